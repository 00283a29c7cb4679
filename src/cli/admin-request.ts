/** Requests of the command line to the running gateway: over its admin socket or port, with the admin token. */
import { type IncomingMessage, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { isObject, type JsonObject } from '../core/json.ts'

export interface AdminRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for the whole exchange; absent: no limit. */
  readonly limit?: number
}

/** The admin listener of a gateway. */
export interface AdminPlace {
  /** A base address, or the path of a socket. */
  readonly address: URL | string
  readonly token: string | undefined
  /** PEM of the only certificate that the listener may show; undefined: any that the machine trusts for the address. */
  readonly certificate?: string | undefined
  /** Source of the token, for the message where it is missing or wrong. */
  readonly remedy: string
}

/** The gateway's refusal of a command, with its words. */
export class AdminRefusal extends Error {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** Error codes of a connection attempt where no process listens: no port, no socket file, or one that a killed process left. */
const NOT_LISTENING: readonly unknown[] = ['ECONNREFUSED', 'ENOENT']

/**
 * @returns the reply, still to be read; undefined where no process listens.
 * @throws AdminRefusal with the gateway's own message for any status but 2xx; the system's error where the connection breaks.
 */
export async function requestAdmin(adminRequest: AdminRequest, place: AdminPlace): Promise<IncomingMessage | undefined> {
  const reply = await send(adminRequest, place)
  const { statusCode: status = 0 } = reply ?? {}
  if (!reply || (status >= 200 && status < 300)) return reply
  const answer = await text(reply)
  const message = status === 401 ? place.remedy : (messageIn(answer) ?? `status ${status}, which is no answer of a gateway`)
  throw new AdminRefusal(`${addressText(place)} refused: ${message}`, status)
}

function send(
  { method, path, body, headers: more, limit }: AdminRequest,
  { address, token, certificate }: AdminPlace,
): Promise<IncomingMessage | undefined> {
  const content = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...more,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(content === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
  }
  const signal = limit === undefined ? undefined : AbortSignal.timeout(limit)
  const pinned = certificate === undefined ? {} : { ca: certificate, allowPartialTrustChain: true, checkServerIdentity: () => undefined }
  const options = { method, headers, agent: false as const, signal, ...pinned }
  return new Promise((resolve, reject) => {
    const sent =
      typeof address === 'string'
        ? request({ ...options, socketPath: address, path }, resolve)
        : (address.protocol === 'https:' ? secureRequest : request)(
            new URL(address.pathname.replace(/\/$/, '') + path, address),
            options,
            resolve,
          )
    sent.on('error', (error: NodeJS.ErrnoException) => (NOT_LISTENING.includes(error.code) ? resolve(undefined) : reject(error)))
    sent.end(content)
  })
}

const UNIX = 'unix:'

/** The path in an address such as `unix:/run/headgate/admin.sock`; undefined for any other. */
export function socketIn(address: string): string | undefined {
  return address.startsWith(UNIX) && address.length > UNIX.length ? address.slice(UNIX.length) : undefined
}

export function addressText({ address }: AdminPlace): string {
  return typeof address === 'string' ? address : address.href.replace(/\/$/, '')
}

function messageIn(body: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return isObject(parsed) && isObject(parsed.error) && typeof parsed.error.message === 'string' ? parsed.error.message : undefined
  } catch {
    return undefined
  }
}
