/** Why an address cannot be listened on, with the setting that names it. */

/** Source of an address: the setting, and the option of the command line that stands in for it. */
export interface AddressSource {
  readonly host: string
  readonly port: number
  readonly setting: string
  readonly option?: string
}

/** Words of the system, and the remedy. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: end it, or choose another port',
  EACCES: 'this account may not listen there: ports below 1024 need a right of their own, so choose another port',
  EADDRNOTAVAIL: 'this machine has no such address: choose one of its own, or 0.0.0.0 for all of them',
}

/** @param error what the system reports of a listener. @returns the same error where it says nothing of the address. */
export function listenError(error: NodeJS.ErrnoException, { host, port, setting, option }: AddressSource): Error {
  const reason = REASONS[error.code ?? '']
  if (reason === undefined) return error
  const where = option === undefined ? setting : `${setting} or ${option}`
  return new Error(`${setting}: ${host.includes(':') ? `[${host}]` : host}:${port}: ${reason} (${where})`, { cause: error })
}

/** The address of the gateway itself. */
export function gatewayAddress(host: string, port: number): AddressSource {
  return { host, port, setting: 'server.port', option: '--port' }
}
