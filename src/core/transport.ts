/** Which addresses of PostgreSQL and Redis are of this machine, and what TLS the others need. */
import { isIPv4, isIPv6 } from 'node:net'

/** Values of `sslmode` that state what is wanted; `prefer` and `allow` fall back to plain text without a word. */
const SSL_MODES = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'] as const

export interface PostgresTransport {
  /** `verify-full`: TLS with a certificate that is checked; `no-verify`: TLS with any certificate; `disable`: plain text. */
  mode: 'verify-full' | 'no-verify' | 'disable'
}

/** True for loopback addresses (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3), `localhost`, and the path of a unix socket. */
export function isLocalHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  if (name.startsWith('/') || name.startsWith('%2f')) return true
  if (isIPv4(name)) return name.startsWith('127.')
  if (isIPv6(name)) return name === '::1' || name.startsWith('::ffff:127.')
  return name === 'localhost' || name.endsWith('.localhost')
}

/**
 * The transport that a `postgres://` URL names: its `sslmode`, else checked TLS, except on this machine.
 * @returns what was expected where the URL does not state it clearly.
 */
export function postgresTransport(url: string): PostgresTransport | string {
  const [address = '', search = ''] = url.split('?', 2)
  const settings = new URLSearchParams(search)
  for (const name of ['ssl', 'uselibpqcompat']) if (settings.has(name)) return `expected sslmode instead of ${name}`
  const mode = settings.get('sslmode')
  if (mode === null) return { mode: isLocalHost(postgresHost(address, settings)) ? 'disable' : 'verify-full' }
  if (!(SSL_MODES as readonly string[]).includes(mode)) return `expected one of ${SSL_MODES.join(', ')} for sslmode`
  return { mode: mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full' }
}

/**
 * The host that the driver connects to: the last `host` of the query, else that of the URL (pg-connection-string 2.14.1, index.js),
 * else `PGHOST`, else localhost (pg 8.23.1, lib/connection-parameters.js).
 */
function postgresHost(address: string, settings: URLSearchParams): string {
  return settings.getAll('host').at(-1) || URL.parse(address)?.hostname || process.env.PGHOST || 'localhost'
}

/** Expected by the setting `shared.url`; undefined where the address may be used. @param off where the file switches TLS off. */
export function redisProblem(url: string, off: boolean): string | undefined {
  if (off || url.startsWith('rediss:')) return undefined
  const { hostname = '', search = '' } = URL.parse(url) ?? {}
  // Without a host the client takes one from the query.
  if (isLocalHost(hostname) || (hostname === '' && search === '')) return undefined
  return 'expected rediss:// for an address that is not of this machine; `tls: off` beside it sends keys and counts in plain text'
}
