/** Guardrails and assignments as the management operations show them: those of the file and those of the store alike. */
import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { defaultLevel, ORGANIZATION } from '../core/levels.ts'
import { WORKSPACE } from '../core/workspace.ts'
import { UNSET_FIELDS, ZDR_FIELDS } from '../guardrails/settings/fields.ts'
import { slugPlaceholder } from '../guardrails/settings/recognisers.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Assignment, AttributedGuardrails, GuardrailSnapshot, StoredGuardrail } from '../store/guardrails.ts'
import type { StoredKey } from '../store/keys.ts'
import type { KnownNames } from './guardrail-body.ts'
import { allKeys, type KeySource } from './key-entry.ts'

/** A guardrail of the configuration. */
export interface FileGuardrail {
  readonly name: string
  /** As written, without name and scope. */
  readonly fields: JsonObject
  /** Names of the keys that it holds for; absent: every request. */
  readonly keys?: readonly string[]
}

/** Dependencies of the management of guardrails. */
export interface GuardrailSource extends KeySource {
  readonly guardrails: AttributedGuardrails
  /** Those of the configuration: shown, and changed only there. */
  readonly written: readonly FileGuardrail[]
  readonly there: KnownNames
  /** Id of a new guardrail; absent: any. */
  readonly guardrailId?: () => string
  /** Rejects with a Fault 400 naming the field, where a guardrail could not be put in force. */
  tryOut(name: string, fields: JsonObject): Promise<void>
}

/** The guardrail that holds for every request in the default workspace, once it is made: the workspace's own. */
export const DEFAULT_GUARDRAIL = '00000000-0000-8000-8000-000000000002'
/** Id of the guardrail that holds for all requests in a workspace, once it is made. */
export function workspaceGuardrail(workspace: string): string {
  if (workspace === WORKSPACE) return DEFAULT_GUARDRAIL
  const hex = createHash('sha256').update(`guardrail of the workspace ${workspace}`).digest('hex')
  // The form of a UUID of version 8 (RFC 9562, 5.8).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Form of such ids. */
export const OWN_GUARDRAIL = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/

/** A file says nothing of when it was written; clients require a time. */
const UNKNOWN_TIME = new Date(0).toISOString()

export function storedEntry({ id, name, fields, createdAt, updatedAt }: StoredGuardrail, everywhere: boolean): JsonObject {
  return {
    id,
    name,
    ...wireFields(fields),
    workspace_id: WORKSPACE,
    created_at: new Date(createdAt).toISOString(),
    updated_at: updatedAt === null ? null : new Date(updatedAt).toISOString(),
    scope: everywhere ? 'account' : 'api-key',
    source: 'store',
  }
}

/** The name is the id: no two of a file have the same. */
export function fileEntry({ name, fields, keys }: FileGuardrail): JsonObject {
  const { enforce_zdr: zdr, ...rest } = fields
  const groups = zdr === undefined ? {} : Object.fromEntries(ZDR_FIELDS.map((field) => [field, rest[field] ?? zdr]))
  return {
    id: name,
    name,
    ...wireFields({ ...rest, ...groups }),
    workspace_id: WORKSPACE,
    created_at: UNKNOWN_TIME,
    updated_at: null,
    scope: keys ? 'api-key' : 'account',
    source: 'configuration',
  }
}

function wireFields(fields: JsonObject): JsonObject {
  const builtins = fields.content_filter_builtins
  const entries = Array.isArray(builtins) ? { ...fields, content_filter_builtins: builtins.map(builtinEntry) } : fields
  const shown: JsonObject = {}
  for (const [field, unset] of UNSET_FIELDS) {
    const value = entries[field] ?? unset
    if (value !== undefined) shown[field] = value
  }
  return shown
}

function builtinEntry(entry: Json): Json {
  return isObject(entry) ? { ...entry, label: slugPlaceholder(String(entry.slug)) } : entry
}

/** Those of the file first, in its order, then those of the store in the order of their making. */
export function guardrailEntries(
  { guardrails, assignments }: GuardrailSnapshot,
  { written }: Pick<GuardrailSource, 'written'>,
): JsonObject[] {
  const everywhere = new Set(assignments.filter(({ kind }) => kind === 'workspace').map(({ guardrail }) => guardrail))
  return [...written.map(fileEntry), ...guardrails.map((each) => storedEntry(each, everywhere.has(each.id)))]
}

/** Assignments to keys that are there: by the scopes of the file, then those of the store. */
export async function keyAssignments(
  { assignments }: GuardrailSnapshot,
  source: Pick<GuardrailSource, 'written' | 'store' | 'configured'>,
): Promise<JsonObject[]> {
  const keys = await allKeys(source)
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const scoped = source.written.flatMap(({ name, keys: named = [] }) =>
    keys
      .filter((key) => named.includes(key.name))
      .map((key) => keyAssignment(key, { id: `${name}.${key.hash.slice(0, 16)}`, guardrail: name, by: null, createdAt: 0 })),
  )
  const stored = assignments.flatMap((each) => {
    const key = each.kind === 'key' ? byIdentity.get(each.subject) : undefined
    return key ? [keyAssignment(key, each)] : []
  })
  return [...scoped, ...stored]
}

function keyAssignment(
  { hash, name, label }: ApiKey | StoredKey,
  { id, guardrail, by, createdAt }: Pick<Assignment, 'id' | 'guardrail' | 'by' | 'createdAt'>,
): JsonObject {
  const created_at = new Date(createdAt).toISOString()
  return { id, guardrail_id: guardrail, key_hash: hash, key_name: name, key_label: label, assigned_by: by, created_at }
}

/** Assignments to workspaces, or to organizations; those to one that is gone are listed as of a workspace. */
export function levelAssignments(
  { assignments }: GuardrailSnapshot,
  kind: 'workspace' | 'organization',
  { levels }: Pick<GuardrailSource, 'levels'>,
): JsonObject[] {
  const isOrganization = (id: string): boolean => (levels ? levels.tree.get('organization', id) : defaultLevel(id))?.kind === 'organization'
  return assignments
    .filter((each) => each.kind === 'workspace' && isOrganization(each.subject) === (kind === 'organization'))
    .map(({ id, subject, guardrail, by, createdAt }) => ({
      id,
      guardrail_id: guardrail,
      [`${kind}_id`]: subject,
      assigned_by: by,
      created_at: new Date(createdAt).toISOString(),
    }))
}

export function memberAssignments({ assignments }: GuardrailSnapshot): JsonObject[] {
  return assignments
    .filter(({ kind }) => kind === 'member')
    .map(({ id, subject, guardrail, by, createdAt }) => ({
      id,
      guardrail_id: guardrail,
      user_id: subject,
      organization_id: ORGANIZATION,
      assigned_by: by,
      created_at: new Date(createdAt).toISOString(),
    }))
}
