/** Requests of the command line to the running gateway: over its admin socket or port, with the admin token. */
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Config } from '../config/config.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { readToken } from '../server/admin-token.ts'

export interface AdminRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for the whole exchange; absent: no limit. */
  readonly limit?: number
}

/** Error codes of a connection attempt where no process listens: no port, no socket file, or one that a killed process left. */
const NOT_LISTENING: readonly unknown[] = ['ECONNREFUSED', 'ENOENT']

/**
 * @returns the reply, still to be read; undefined where no process listens.
 * @throws Error with the gateway's own message for any status but 2xx; the system's error where the connection breaks.
 */
export async function requestAdmin(adminRequest: AdminRequest, { admin }: Pick<Config, 'admin'>): Promise<IncomingMessage | undefined> {
  const reply = await send(adminRequest, admin)
  const { statusCode: status = 0 } = reply ?? {}
  if (!reply || (status >= 200 && status < 300)) return reply
  const said = await text(reply)
  const message = status === 401 ? unauthorized(admin) : (messageIn(said) ?? `status ${status}, which is no answer of a gateway`)
  throw new Error(`${addressOf(admin)} refused: ${message}`)
}

function send({ method, path, body, headers: more, limit }: AdminRequest, admin: Config['admin']): Promise<IncomingMessage | undefined> {
  const { host, port, socket } = admin
  const token = admin.token ?? (socket === undefined && admin.tokenFile !== undefined ? readToken(admin.tokenFile) : undefined)
  const content = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...more,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(content === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
  }
  const target = socket === undefined ? { host, port } : { socketPath: socket }
  const signal = limit === undefined ? undefined : AbortSignal.timeout(limit)
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, method, path, headers, agent: false, signal }, resolve)
    sent.on('error', (error: NodeJS.ErrnoException) => (NOT_LISTENING.includes(error.code) ? resolve(undefined) : reject(error)))
    sent.end(content)
  })
}

function addressOf({ host, port, socket }: Config['admin']): string {
  return socket ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function unauthorized({ token, tokenFile }: Config['admin']): string {
  if (token !== undefined) return 'admin.token is not the token of the gateway that runs there'
  if (tokenFile === undefined) return 'its store is in memory, so there is no token file: set admin.token or admin.socket'
  return `expected the admin token of the gateway that runs there in ${tokenFile}: run the command in its directory and as its account, or set admin.token`
}

function messageIn(body: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return isObject(parsed) && isObject(parsed.error) && typeof parsed.error.message === 'string' ? parsed.error.message : undefined
  } catch {
    return undefined
  }
}
