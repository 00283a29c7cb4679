/** Operations that only management keys may call: keys, guardrails, credits, activity, sessions. */
import {
  type ActivitySource,
  type ApiReply,
  addEntry,
  assign,
  type ConfigurationSource,
  type CsvList,
  changeGuardrail,
  changeKey,
  checkConfiguration,
  createGuardrail,
  createKey,
  csvListFor,
  csvReply,
  type EventSource,
  type GuardrailSource,
  type GuardrailTestSource,
  generationDetail,
  LARGEST_BODY,
  listAssignments,
  listBudgets,
  listEntries,
  listGuardrails,
  listKeys,
  listRefusals,
  oneGuardrail,
  oneKey,
  planGeneration,
  type RefusalSource,
  type ReplaySource,
  readActivity,
  readCredits,
  readKeyActivity,
  readKeyBudget,
  readSessions,
  rehearseConfiguration,
  removeGuardrail,
  removeKey,
  rotateKey,
  type Status,
  searchGenerations,
  showConfiguration,
  testGuardrails,
  unassign,
} from '../api/index.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { LedgerReader } from '../ledger/types.ts'
import { parseBody } from '../pipeline/request/read.ts'
import { checkBodyHead } from '../pipeline/request/receive.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { eventOperation } from './event-routes.ts'
import type { Answer, OperationRequest } from './gateway.ts'

export interface ManagementSource
  extends ActivitySource,
    GuardrailSource,
    EventSource,
    ConfigurationSource,
    ReplaySource,
    RefusalSource,
    GuardrailTestSource {
  readonly status: Pick<Status, 'read'>
  readonly ledger: Pick<LedgerReader, 'find' | 'entries'>
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** As for completions: bytes and levels of a body. */
  readonly maxBody: number
  readonly jsonDepth: number
}

type Act = (request: OperationRequest, source: ManagementSource, key: ApiKey) => Promise<ApiReply>

const KEYS = '/v1/keys'

const PATHS: Readonly<Record<string, Readonly<Record<string, Act>>>> = {
  [KEYS]: {
    GET: ({ query }, source) => listKeys(query, source),
    POST: async (request, source) => createKey(await bodyOf(request, source), source),
  },
  '/v1/budgets': { GET: (_request, source) => listBudgets(source) },
  '/v1/credits': { GET: (_request, source) => readCredits(source) },
  '/v1/ledger/entries': {
    GET: ({ query }, source) => listEntries(query, source),
    POST: async (request, source, key) => addEntry(await bodyOf(request, source), source, makerOf(key)),
  },
  '/v1/sessions': { GET: ({ query }, source) => readSessions(query, source) },
  '/v1/status': { GET: (_request, source) => source.status.read() },
  '/v1/generations': { GET: ({ query }, source) => searchGenerations(query, source) },
  '/v1/refusals': { GET: ({ query }, source) => listRefusals(query, source) },
  '/v1/configuration': { GET: ({ query }, source) => showConfiguration(query, source) },
  '/v1/configuration/check': {
    POST: async (request, source) => checkConfiguration(await bodyOf(request, withSmallerBody(source)), source),
  },
  '/v1/configuration/rehearse': {
    POST: async (request, source) => rehearseConfiguration(await bodyOf(request, withSmallerBody(source)), source),
  },
  '/v1/activity': { GET: ({ query }, source) => readActivity(query, source) },
  '/v1/activity/keys': { GET: ({ query }, source) => readKeyActivity(query, source) },
}

/** A configuration needs little memory, and its check has a thread to itself. */
const withSmallerBody = ({ maxBody, jsonDepth }: ManagementSource) => ({ maxBody: Math.min(maxBody, LARGEST_BODY), jsonDepth })

const GENERATIONS = '/v1/generations/'
const GENERATION_ID = /^[A-Za-z0-9_-]{1,80}$/

/** Of a secret; what else stands in the store of keys is no key. */
const HASH = /^[0-9a-f]{64}$/

/** `hash` is the last part of the path. */
const ONE_KEY: Readonly<Record<string, (hash: string) => Act>> = {
  GET: (hash) => (_request, source) => oneKey(hash, source),
  PATCH: (hash) => async (request, source) => changeKey(hash, await bodyOf(request, source), source),
  DELETE: (hash) => (_request, source) => removeKey(hash, source),
}

const ONE_OF_KEYS = new RegExp(`^${KEYS}/([^/]*)(/.*)?$`)
/** By the part of the path behind the hash. */
const OF_KEY: Readonly<Record<string, typeof ONE_KEY>> = {
  '': ONE_KEY,
  '/rotate': { POST: (hash) => (_request, source) => rotateKey(hash, source) },
  '/budget': { GET: (hash) => (_request, source) => readKeyBudget(hash, source) },
}

/**
 * Operation of a path with this method, once the caller's key is known.
 * @returns undefined where no management operation has the path. @throws Fault 405 for another method of one.
 */
export function managementOperation(request: OperationRequest, source: ManagementSource): ((key: ApiKey) => Promise<Answer>) | undefined {
  const { path } = request
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const guardrails = guardrailOperation(request, source, method)
  if (guardrails) return guardrails
  const events = eventOperation(request, { ...source, body: () => bodyOf(request, source) })
  if (events) return events
  if (path.startsWith(GENERATIONS)) {
    const [id = '', plan, ...rest] = path.slice(GENERATIONS.length).split('/')
    if (!GENERATION_ID.test(id) || rest.length > 0 || (plan !== undefined && plan !== 'plan')) return undefined
    const methods: Record<string, Act> =
      plan === undefined ? { GET: (_request, of) => generationDetail(id, of) } : { POST: (_request, of) => planGeneration(id, of) }
    const read = methodOf(methods, method)
    return async (key) => {
      if (!key.management) throw new Fault('management_only')
      return read(request, source, key)
    }
  }
  const [, hash, rest = ''] = ONE_OF_KEYS.exec(path) ?? []
  const act = hash === undefined ? actOf(PATHS, path, method) : actOf(OF_KEY, rest, method)?.(hash)
  if (!act) return undefined
  return async (key) => {
    if (!key.management) throw new Fault('management_only')
    const list = method === 'GET' ? csvListFor(path, request.query, request.request.headers.accept) : undefined
    if (list) return asCsv(list, request, source)
    if (hash !== undefined && !HASH.test(hash)) throw new Fault('not_found', { message: 'No such key' })
    return act(request, source, key)
  }
}

/** Creator of the management key, or the key's name. */
function makerOf(key: ApiKey): string {
  return ('creator' in key && typeof key.creator === 'string' ? key.creator : undefined) ?? key.name
}

async function asCsv(list: CsvList, { query, method }: OperationRequest, source: ManagementSource): Promise<Answer> {
  const { bytes, ...reply } = await csvReply(list, query, source)
  if (method !== 'HEAD') return { ...reply, bytes }
  bytes.destroy()
  return { ...reply, bytes: undefined }
}

function guardrailOperation(
  request: OperationRequest,
  source: ManagementSource,
  method: string,
): ((key: ApiKey) => Promise<ApiReply>) | undefined {
  const methods = guardrailMethods(request.path)
  if (!methods) return undefined
  const act = methodOf(methods, method)
  return async (key) => {
    if (!key.management) throw new Fault('management_only')
    return act({ query: request.query, source, by: makerOf(key), body: () => bodyOf(request, source) })
  }
}

/** @returns undefined where the table has no such path. @throws Fault 405. */
function actOf<T>(table: Readonly<Record<string, Readonly<Record<string, T>>>>, path: string, method: string): T | undefined {
  const methods = Object.hasOwn(table, path) ? table[path] : undefined
  return methods && methodOf(methods, method)
}

/** @throws Fault 405. */
export function methodOf<T>(methods: Readonly<Record<string, T>>, method: string): T {
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (found === undefined) throw new Fault('method_not_allowed', { headers: { Allow: Object.keys(methods).join(', ') } })
  return found
}

/** Operations read the body after their checks, so that refused callers cannot make the gateway hold one. @throws Fault 400, 413, 415. */
export async function bodyOf(
  request: OperationRequest,
  { maxBody, jsonDepth }: Pick<ManagementSource, 'maxBody' | 'jsonDepth'>,
): Promise<JsonObject> {
  const { headers } = request.request
  const length = headers['content-length']
  checkBodyHead(headers, length === undefined ? undefined : Number(length), maxBody)
  return parseBody(await request.readBody(maxBody), jsonDepth)
}

/** One call of an operation on guardrails. */
interface GuardrailCall {
  readonly query: URLSearchParams
  readonly source: GuardrailSource & GuardrailTestSource
  /** Creator of the management key, or the key's name. */
  readonly by: string
  /** Reads the body when it is called. */
  body(): Promise<JsonObject>
}

type GuardrailMethods = Readonly<Record<string, (call: GuardrailCall) => Promise<ApiReply>>>

const ROOT = '/v1/guardrails'
/** A UUID, or the name of a guardrail of the file. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const KINDS = { keys: 'key', members: 'member' } as const

const ALL: GuardrailMethods = {
  GET: ({ query, source }) => listGuardrails(query, source),
  POST: async ({ source, body }) => createGuardrail(await body(), source),
}

/** A guardrail of the file may be called so: then it has the other methods of the path. */
const TEST = 'test'
const test: GuardrailMethods[string] = async ({ source, body }) => testGuardrails(await body(), source)

const one = (id: string): GuardrailMethods => ({
  GET: ({ source }) => oneGuardrail(id, source),
  PATCH: async ({ source, by, body }) => changeGuardrail(id, await body(), source, by),
  DELETE: ({ source }) => removeGuardrail(id, source),
})

/**
 * Paths under /v1/guardrails, by method.
 * @returns undefined where the path is none of guardrails.
 */
function guardrailMethods(path: string): GuardrailMethods | undefined {
  if (path === ROOT) return ALL
  if (!path.startsWith(`${ROOT}/`)) return undefined
  const [id, assignments, kinds, remove, ...rest] = path.slice(ROOT.length + 1).split('/')
  // An id might be called so, too; then its own assignments are one level further down.
  if (id === 'assignments' && assignments !== undefined && kinds === undefined) return ofAll(assignments)
  if (id === undefined || !ID.test(id) || rest.length > 0) return undefined
  if (assignments === undefined) return id === TEST ? { ...one(id), POST: test } : one(id)
  if (assignments !== 'assignments' || kinds === undefined || !Object.hasOwn(KINDS, kinds)) return undefined
  const kind = KINDS[kinds as keyof typeof KINDS]
  if (remove === undefined)
    return {
      GET: ({ query, source }) => listAssignments(kind, id, query, source),
      POST: async ({ source, by, body }) => assign(kind, id, await body(), { ...source, by }),
    }
  return remove === 'remove' ? { POST: async ({ source, body }) => unassign(kind, id, await body(), source) } : undefined
}

function ofAll(kinds: string): GuardrailMethods | undefined {
  if (!Object.hasOwn(KINDS, kinds)) return undefined
  const kind = KINDS[kinds as keyof typeof KINDS]
  return { GET: ({ query, source }) => listAssignments(kind, undefined, query, source) }
}
