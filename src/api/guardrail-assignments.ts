/** Assignments of guardrails: /v1/guardrails/…/assignments. A key, a member, a workspace or an organization holds at most one. */
import { randomUUID } from 'node:crypto'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { personName } from '../core/levels.ts'
import type { AssignmentKind, GuardrailSnapshot } from '../store/guardrails.ts'
import { checkKeyHashes, checkMembers, checkOrganizations, checkWorkspaces } from './guardrail-body.ts'
import { type GuardrailSource, keyAssignments, levelAssignments, memberAssignments } from './guardrail-entry.ts'
import { noGuardrail, PAGING, pageBy, refuseWritten } from './guardrails.ts'
import { allKeys } from './key-entry.ts'
import type { ChangeSource } from './origin.ts'
import { shortText } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export type Assigned = AssignmentKind | 'organization'

const ofSubject = shortText('subject', 'Only those of this key (its hash), member, workspace or organization (its id).', 256)
export const ASSIGNMENTS_QUERY = [...PAGING, ofSubject]

/** Members of bodies and of entries, and words for what they name. */
const FIELDS = {
  key: { field: 'key_hashes', entry: 'key_hash', noun: 'key', check: checkKeyHashes },
  member: { field: 'member_user_ids', entry: 'user_id', noun: 'member', check: checkMembers },
  workspace: { field: 'workspace_ids', entry: 'workspace_id', noun: 'workspace', check: checkWorkspaces },
  organization: { field: 'organization_ids', entry: 'organization_id', noun: 'organization', check: checkOrganizations },
} as const

/** In the store, organizations stand with workspaces: see `Assignment`. */
const storedKind = (kind: Assigned): AssignmentKind => (kind === 'organization' ? 'workspace' : kind)

/**
 * @param id of a guardrail; undefined: of all. @param query with `ASSIGNMENTS_QUERY`.
 * @throws Fault 400 naming the query parameter, 404.
 */
export async function listAssignments(
  kind: Assigned,
  id: string | undefined,
  query: URLSearchParams,
  source: GuardrailSource,
): Promise<ApiReply> {
  const page = pageBy(query)
  const subject = ofSubject.read(query)?.toLowerCase()
  const stored = await source.guardrails.all()
  if (id !== undefined && ![...stored.guardrails.map((each) => each.id), ...source.written.map(({ name }) => name)].includes(id))
    throw noGuardrail()
  const entries = await assignmentEntries(kind, stored, source)
  const { entry: named } = FIELDS[kind]
  return page(
    entries.filter((entry) => (id === undefined || entry.guardrail_id === id) && (subject === undefined || entry[named] === subject)),
  )
}

async function assignmentEntries(kind: Assigned, stored: GuardrailSnapshot, source: GuardrailSource): Promise<JsonObject[]> {
  if (kind === 'key') return keyAssignments(stored, source)
  if (kind === 'member') return memberAssignments(stored)
  await source.levels?.renew()
  return levelAssignments(stored, kind, source)
}

/**
 * In place of what each held before.
 * @param by the caller. @throws Fault 400 naming the field, 404, 409 for a guardrail of the configuration.
 */
export async function assign(
  kind: Assigned,
  id: string,
  body: JsonObject,
  source: GuardrailSource & ChangeSource & { by: string },
): Promise<ApiReply> {
  refuseWritten(id, source)
  const subjects = await findSubjects(kind, body, source)
  await mustBeThere(id, source)
  const unknown = subjects.indexOf(undefined)
  const { field, noun } = FIELDS[kind]
  if (unknown >= 0) throw badField(`${field}[${unknown}]`, `no such ${noun}`)
  const { by, clock } = source
  const createdAt = Math.floor(clock.now())
  const named = [...new Set(subjects)].filter((subject) => subject !== undefined)
  const made = named.map((subject) => ({ kind: storedKind(kind), subject, guardrail: id, id: randomUUID(), by, createdAt }))
  const count = await source.guardrails.assign(made, source.origin)
  // Removed meanwhile.
  if (count === 0) throw noGuardrail()
  return ok({ assigned_count: count })
}

/** Those that do not hold it are not counted. @throws Fault 400 naming the field, 404, 409 for a guardrail of the configuration. */
export async function unassign(kind: Assigned, id: string, body: JsonObject, source: GuardrailSource & ChangeSource): Promise<ApiReply> {
  refuseWritten(id, source)
  const subjects = await findSubjects(kind, body, source)
  await mustBeThere(id, source)
  // What is gone may still have one.
  const given = body[FIELDS[kind].field] as string[]
  const gone = (name = ''): string | readonly string[] => (kind === 'key' ? [] : kind === 'member' ? personName(name) : name)
  const named = subjects.flatMap((subject, at) => subject ?? gone(given[at]))
  return ok({ unassigned_count: await source.guardrails.unassign(storedKind(kind), id, named, source.origin) })
}

/** Identities of keys, ids of levels, or names of members that a body names; undefined for those that are not there. */
async function findSubjects(kind: Assigned, body: JsonObject, source: GuardrailSource): Promise<(string | undefined)[]> {
  const { field, check } = FIELDS[kind]
  check(body)
  const given = body[field] as string[]
  if (kind === 'key') {
    const byHash = new Map((await allKeys(source)).map((key) => [key.hash, key.identity]))
    return given.map((hash) => byHash.get(hash))
  }
  await source.levels?.renew()
  const tree = source.levels?.tree
  if (kind !== 'member') return given.map((name) => tree?.named(kind, name)?.id)
  const users = new Set(tree?.list('member').map(({ fields }) => personName(fields.userId ?? '')))
  return given.map((user) => (users.has(personName(user)) ? personName(user) : undefined))
}

async function mustBeThere(id: string, { guardrails }: GuardrailSource): Promise<void> {
  if (!(await guardrails.all()).guardrails.some((each) => each.id === id)) throw noGuardrail()
}
