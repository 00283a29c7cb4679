/** Paths under /v1/guardrails, by method. */
import {
  type ApiReply,
  assign,
  changeGuardrail,
  createGuardrail,
  type GuardrailSource,
  listAssignments,
  listGuardrails,
  oneGuardrail,
  removeGuardrail,
  unassign,
} from '../api/index.ts'
import type { JsonObject } from '../core/json.ts'

/** One call of an operation on guardrails. */
export interface GuardrailCall {
  readonly query: URLSearchParams
  readonly source: GuardrailSource
  /** Creator of the management key, or the key's name. */
  readonly by: string
  /** Reads the body when it is called. */
  body(): Promise<JsonObject>
}

export type GuardrailMethods = Readonly<Record<string, (call: GuardrailCall) => Promise<ApiReply>>>

const ROOT = '/v1/guardrails'
/** A UUID, or the name of a guardrail of the file. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const KINDS = { keys: 'key', members: 'member' } as const

const ALL: GuardrailMethods = {
  GET: ({ query, source }) => listGuardrails(query, source),
  POST: async ({ source, body }) => createGuardrail(await body(), source),
}

const one = (id: string): GuardrailMethods => ({
  GET: ({ source }) => oneGuardrail(id, source),
  PATCH: async ({ source, by, body }) => changeGuardrail(id, await body(), source, by),
  DELETE: ({ source }) => removeGuardrail(id, source),
})

/** @returns undefined where the path is none of guardrails. */
export function guardrailMethods(path: string): GuardrailMethods | undefined {
  if (path === ROOT) return ALL
  if (!path.startsWith(`${ROOT}/`)) return undefined
  const [id, assignments, kinds, remove, ...rest] = path.slice(ROOT.length + 1).split('/')
  // An id might be called so, too; then its own assignments are one level further down.
  if (id === 'assignments' && assignments !== undefined && kinds === undefined) return ofAll(assignments)
  if (!ID.test(id) || rest.length > 0) return undefined
  if (assignments === undefined) return one(id)
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
