/** `/scim/v2` at the API listener: identity providers that provision people and groups, each with a token of its own. */
import { timingSafeEqual } from 'node:crypto'
import type { ScimReply, ScimSource } from '../api/index.ts'
import type { Config } from '../config/config.ts'
import { asFault, Fault } from '../core/faults.ts'
import { ownAddress } from '../core/own-address.ts'
import { isEncrypted } from '../core/request-scheme.ts'
import { retryHeaders } from '../core/retry-after.ts'
import { secretHash } from '../core/secret.ts'
import type { Attempts } from '../pipeline/request/attempt-buckets.ts'
import { parseBody } from '../pipeline/request/read.ts'
import { checkBodyHead } from '../pipeline/request/receive.ts'
import type { Page } from './consent-page.ts'
import type { OperationRequest } from './gateway.ts'

const BASE = '/scim/v2'
/** Bytes of a body: a group of 20,000 members with the addresses of all of them. */
const MAX_BODY = 8 * 1024 * 1024
const TYPE = 'application/scim+json'
const TOO_MANY = 'Too many requests with tokens that cannot be used came from this address'

export interface ScimService {
  readonly config: Pick<Config, 'scim' | 'server'>
  /** Its levels, and the keys that are in workspaces. */
  readonly management: ScimSource['management']
  /** Wrong keys and tokens by address. */
  readonly failures: Attempts
}

/** Answers below the base path; undefined for any other one, and where no token is set. */
export function scimPages(service: ScimService): (call: OperationRequest) => Promise<Page> | undefined {
  const { scim } = service.config
  if (scim.tokens.length === 0) return () => undefined
  return (call) => (call.path === BASE || call.path.startsWith(`${BASE}/`) ? answer(call, service) : undefined)
}

async function answer(call: OperationRequest, service: ScimService): Promise<Page> {
  // Loaded with the first request of an identity provider.
  const { answerScim, errorReply, ScimError } = await import('../api/scim/index.ts')
  const failed = (status: number, message: string, headers = {}): Page =>
    page(errorReply(new ScimError(status, message, undefined, headers)))
  try {
    const name = authenticate(call, service)
    return page(await answerScim(scimCall(call, service), await source(call, service, name)))
  } catch (thrown) {
    if (thrown instanceof ScimError) return page(errorReply(thrown))
    const fault = asFault(thrown)
    // The connection ends a body that was not read; an unexpected error goes to the log.
    if (fault.code === 'too_large' || fault.code === 'internal' || fault.code === 'client_gone') throw fault
    return failed(fault.status, fault.message, { ...fault.headers, ...retryHeaders(fault.retryAfter) })
  }
}

/** @returns the name of the token. @throws Fault 401, 429. */
function authenticate({ request, address }: OperationRequest, { config, failures }: ScimService): string {
  const [, sent] = /^bearer +(\S{1,512})$/i.exec(request.headers.authorization ?? '') ?? []
  const given = Buffer.from(secretHash(sent ?? ''), 'hex')
  // Each is compared, so that the time says nothing of which.
  const [found] = config.scim.tokens.filter(({ hash }) => timingSafeEqual(Buffer.from(hash, 'hex'), given))
  if (sent !== undefined && found) return found.name
  failures.check(address(), TOO_MANY)
  failures.count(address())
  throw new Fault('invalid_key', { message: 'Invalid SCIM token', headers: { 'WWW-Authenticate': 'Bearer realm="scim"' } })
}

async function source(call: OperationRequest, service: ScimService, name: string): Promise<ScimSource> {
  const { config, management } = service
  // What another process has just made is found here.
  await management.levels.renew()
  const { headers, socket } = call.request
  const address = ownAddress({ headers, overTls: isEncrypted(socket) }, config.server.publicUrl)
  if (address === undefined) throw new Fault('bad_request', { message: 'host: expected the name of the gateway' })
  return {
    levels: management.levels,
    clock: management.clock,
    management,
    settings: config.scim,
    base: `${address}${BASE}`,
    origin: { actor: { kind: 'identity_provider', id: name, name }, address: call.address() },
  }
}

function scimCall({ method, path, query, request, readBody }: OperationRequest, { config }: ScimService) {
  const { headers } = request
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: path.slice(BASE.length),
    query,
    headers,
    body: async () => {
      const most = Math.min(MAX_BODY, config.server.maxBody)
      const length = headers['content-length']
      checkBodyHead(headers, length === undefined ? undefined : Number(length), most)
      return parseBody(await readBody(most), config.server.jsonDepth)
    },
  }
}

function page({ status, headers, body }: ScimReply): Page {
  const usual = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
  if (!body) return { status, headers: { ...usual, ...headers }, html: '' }
  return { status, headers: { ...usual, 'Content-Type': `${TYPE};charset=utf-8`, ...headers }, html: JSON.stringify(body) }
}
