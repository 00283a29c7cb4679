/**
 * /auth: the page on which a person pastes a key and lets an application have one of its own.
 * There is no session and no cookie: the form must contain a key, so that another site cannot make a browser send it.
 */
import { answerTo } from '../api/auth-callback.ts'
import { findConsenter, type KeyRequest, makeCode, parseKeyRequest, requireSignIn } from '../api/auth-code.ts'
import { keyActor } from '../api/origin.ts'
import type { ConsentBuckets, ManagementSource } from '../api/source.ts'
import type { Clock } from '../core/clock.ts'
import { asFault, badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { retryHeaders } from '../core/retry-after.ts'
import { secretHash } from '../core/secret.ts'
import { Attempts } from '../pipeline/request/attempt-buckets.ts'
import { askPage, type Page, refusalPage, returnPage } from './consent-page.ts'
import type { OperationRequest, Pages } from './gateway.ts'

const PATH = '/auth'
/** Bytes of a form: the longest address and what goes with it. */
const MAX_BYTES = 16 * 1024
const MAX_KEY_LENGTH = 512

/** Parameters of an application's link, which the form repeats; others are not read. */
const CARRIED = ['callback_url', 'code_challenge', 'code_challenge_method', 'usage_limit_type', 'expires_at', 'key_label', 'workspace_id']

/** At once, and per second later on. */
const CODES = { burst: 60, perSecond: 1 }
const TRIED_CODES = { burst: 100, perSecond: 1 }
const TRIED_KEYS = { burst: 20, perSecond: 0.2 }

export function consentBuckets(clock: Pick<Clock, 'now' | 'monotonic'>): Record<keyof ConsentBuckets, Attempts> {
  return { codes: new Attempts(clock, CODES), wrongCodes: new Attempts(clock, TRIED_CODES), wrongKeys: new Attempts(clock, TRIED_KEYS) }
}

export function consentPages(source: ManagementSource): Pages {
  const { codes: made, wrongKeys: wrong } = source.buckets
  const { brand } = source

  function showForm({ query }: OperationRequest): Page {
    const asking = parseAsking(query, source)
    return askPage({ ...asking, keyRequest: keyRequestWith(asking, source) }, brand)
  }

  async function give(call: OperationRequest): Promise<Page> {
    const form = await readForm(call)
    const asking = parseAsking(form, source)
    const address = call.address()
    const key = (form.get('key') ?? '').trim()
    try {
      wrong.check(address, WRONG_KEYS)
      const keyRequest = keyRequestWith(asking, source)
      if (key === '' || key.length > MAX_KEY_LENGTH) throw new Fault('invalid_key')
      const hash = secretHash(key)
      const consenter = await findConsenter(hash, source)
      if (!consenter) throw new Fault('invalid_key')
      // As POST /v1/auth/keys/code does: each code is work for the store.
      made.check(consenter.identity, MANY_CODES)
      made.count(consenter.identity)
      const { code } = await makeCode(keyRequest, hash, { ...source, origin: { actor: keyActor(consenter), address } })
      return returnPage(answerTo(keyRequest.callback, { code, ...askingState(asking) }))
    } catch (thrown) {
      const fault = asFault(thrown)
      if (fault.origin !== 'client') throw fault
      if (fault.code === 'invalid_key') wrong.count(address)
      // A 401 requires a WWW-Authenticate challenge (RFC 9110 section 15.5.2), and this page offers none.
      const status = fault.code === 'invalid_key' ? 403 : fault.status
      const page = askPage({ ...asking, problem: sentence(fault) }, brand, status)
      return { ...page, headers: { ...page.headers, ...retryHeaders(fault.retryAfter) } }
    }
  }

  async function answer(call: OperationRequest): Promise<Page> {
    try {
      requireSignIn(source)
      if (call.method === 'GET' || call.method === 'HEAD') return showForm(call)
      if (call.method === 'POST') return await give(call)
      throw new Fault('method_not_allowed')
    } catch (thrown) {
      const fault = asFault(thrown)
      // The connection ends a body that was not read; an unexpected error goes to the log.
      if (fault.code === 'too_large' || fault.code === 'internal' || fault.code === 'client_gone') throw fault
      const page = refusalPage(fault.status, sentence(fault), brand)
      return fault.code === 'method_not_allowed' ? { ...page, headers: { ...page.headers, Allow: 'GET, POST' } } : page
    }
  }

  return (call) => (call.path === PATH ? answer(call) : undefined)
}

interface Asking {
  /** Without the limit, which the user may have mistyped. */
  keyRequest: KeyRequest
  body: JsonObject
  carried: Map<string, string>
  limit: string
  state: string | undefined
}

/** @throws Fault 400 naming the parameter. */
function parseAsking(parameters: URLSearchParams, source: ManagementSource): Asking {
  const given = new Map<string, string>()
  for (const name of [...CARRIED, 'limit', 'state']) {
    const [value, ...more] = parameters.getAll(name)
    if (more.length > 0) throw badField(name, 'must be given once')
    if (value !== undefined && value !== '') given.set(name, value)
  }
  const limit = given.get('limit') ?? ''
  const state = given.get('state')
  given.delete('limit')
  // RFC 6749 appendix A.5.
  if (state !== undefined && !/^[ -~]{1,1024}$/.test(state)) throw badField('state', 'expected up to 1024 printable ASCII characters')
  const body = Object.fromEntries([...given].filter(([name]) => name !== 'state'))
  const keyRequest = parseKeyRequest(body, source.clock.now(), requireSignIn(source))
  // The answer must fit into the address, with a code or with an error.
  answerTo(keyRequest.callback, askingState({ state }))
  return { keyRequest, body, carried: given, limit, state }
}

function askingState({ state }: Pick<Asking, 'state'>): { state?: string } {
  return state === undefined ? {} : { state }
}

/** @throws Fault 400. */
function keyRequestWith({ keyRequest, body, limit }: Asking, source: ManagementSource): KeyRequest {
  const text = limit.trim()
  if (text === '') return keyRequest
  if (!/^\d{1,7}(\.\d{1,9})?$/.test(text)) throw badField('limit', 'expected an amount of USD such as 10.00')
  return parseKeyRequest({ ...body, limit: Number(text) }, source.clock.now(), requireSignIn(source))
}

/** @throws Fault 403 for a form that another site sent, 413, 415. */
async function readForm({ request: { headers }, readBody }: OperationRequest): Promise<URLSearchParams> {
  const type = headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    throw new Fault('media_type', { message: 'content-type: expected application/x-www-form-urlencoded' })
  if (isForeign(headers)) throw new Fault('forbidden', { message: 'The form was sent from another site' })
  return new URLSearchParams((await readBody(MAX_BYTES)).toString('utf8'))
}

/** Browsers say where a form comes from: by Sec-Fetch-Site, or by Origin where the connection is a plain one. */
function isForeign(headers: OperationRequest['request']['headers']): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin'
  const { origin, host } = headers
  return origin !== undefined && URL.parse(origin)?.host !== host
}

const WRONG_KEYS = 'Too many keys that cannot be used came from your address. Try again a little later.'
const MANY_CODES = 'This key was used for too many applications in a short time. Try again a little later.'

/** Problem in words, for a person. */
function sentence(fault: Fault): string {
  if (fault.code === 'invalid_key') return 'This key is unknown, disabled or expired.'
  return fault.message
}
