/** The client of the management API: the gateway's public API at this origin, with the session's cookie. */
import type { SessionReply } from './api-types.ts'

/** Of the one who has signed in. `actions`: routes of the admin listener that the session opens, such as `GET /ledger/verify`, and `sample`. `api_url`: address of the public API. */
export type Session = NonNullable<SessionReply['data']>

/** An error of the API as its reply states it. */
export class ApiError extends Error {
  readonly status: number
  /** The field of the request that is wrong, such as `limit` or `guardrail.name`; undefined where none is named. */
  readonly field: string | undefined

  constructor(status: number, message: string, field?: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.field = field
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Without this header the server refuses whatever changes something, so that no other page can have it sent. */
const OWN_HEADER = 'x-control-room'

let signedOut: (() => void) | undefined

/** @returns what ends it. */
export function onSignedOut(listener: () => void): () => void {
  signedOut = listener
  return () => {
    if (signedOut === listener) signedOut = undefined
  }
}

/**
 * Calls the API and reads its JSON, such as `await call<{ data: Key[] }>('/v1/keys')`.
 * @throws ApiError for a reply with an error, or where the gateway cannot be reached (status 0).
 */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const response = await send(path, options)
  if (response.status === 204) return undefined as T
  return withVisibleSigns((await response.json()) as T)
}

/**
 * Signs that have a text look like another one: controls but tabs and line ends, invisible ones, and those that turn the direction of
 * writing (UAX #9, section 2). The gateway takes them out of names; texts of callers and of providers come as they are.
 */
const DISGUISES = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu
const isLayout = (sign: string): boolean => sign === '\n' || sign === '\t' || sign === '\r'

const written = (sign: string): string => (isLayout(sign) ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** @returns the reply with such signs written out, in every text of it. */
function withVisibleSigns<T>(value: T): T {
  if (typeof value === 'string') return value.replace(DISGUISES, written) as T
  if (Array.isArray(value)) return value.map(withVisibleSigns) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name.replace(DISGUISES, written), withVisibleSigns(each)])) as T
}

/** As `call`, with the reply as it comes, for streams. */
export async function send(path: string, { method = 'GET', query, body, headers, signal }: Call = {}): Promise<Response> {
  const request: RequestInit = { method, headers: { [OWN_HEADER]: '1', ...headers }, credentials: 'same-origin', signal: signal ?? null }
  if (body !== undefined) {
    request.body = JSON.stringify(body)
    request.headers = { 'content-type': 'application/json', ...request.headers }
  }
  let response: Response
  try {
    response = await fetch(apiAddress(path, query), request)
  } catch (thrown) {
    if (signal?.aborted) throw thrown
    throw new ApiError(0, 'The gateway cannot be reached')
  }
  if (response.ok) return response
  const error = await readApiError(response)
  if (error.status === 401 && path !== '/control-room/session' && !headers?.authorization) signedOut?.()
  throw error
}

/** An address with the parameters that have a value; also for links, such as those to CSV. */
export function apiAddress(path: string, query: Call['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

async function readApiError(response: Response): Promise<ApiError> {
  const fallback = `The gateway replied with status ${response.status}`
  try {
    // Messages have words of providers in them.
    const { error } = withVisibleSigns((await response.json()) as { error?: { message?: string; metadata?: { field?: string } } })
    const message = error?.message ?? fallback
    // Messages about a field begin with its name.
    return new ApiError(response.status, message, error?.metadata?.field ?? /^([a-z_][\w.[\]]*): /.exec(message)?.[1])
  } catch {
    return new ApiError(response.status, fallback)
  }
}

export const readSession = (): Promise<SessionReply> => call('/control-room/session')

/** @param secret a key, or the code of the link that the start has printed. */
export async function signIn(secret: { key: string } | { code: string }): Promise<Session> {
  const { data } = await call<{ data: Session }>('/control-room/session', { method: 'POST', body: secret })
  return data
}

/** Leads the browser to the identity provider. @param name of the sign-in. @throws ApiError where it cannot be reached. */
export async function signInAt(name: string): Promise<void> {
  const body = { return_to: location.pathname + location.search }
  const { data } = await call<{ data: { location: string } }>(`/control-room/sign-in/${name}`, { method: 'POST', body })
  location.assign(data.location)
}

/** @returns the address at which the visitor signs out at the identity provider as well; undefined where there is none. */
export async function signOut(): Promise<string | undefined> {
  const reply = await call<{ data: { location: string } } | undefined>('/control-room/session', { method: 'DELETE' }).catch(() => undefined)
  return reply?.data.location
}
