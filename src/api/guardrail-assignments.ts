/** Whom guardrails hold for: /v1/guardrails/…/assignments. A key or a member holds at most one. */
import { randomUUID } from 'node:crypto'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { AssignmentKind } from '../store/guardrails.ts'
import { checkKeyHashes, checkMembers } from './guardrail-body.ts'
import { type GuardrailSource, keyAssignments, memberAssignments } from './guardrail-entry.ts'
import { noGuardrail, pageBy, refuseWritten } from './guardrails.ts'
import { allKeys } from './key-entry.ts'
import type { ChangeSource } from './origin.ts'
import { type ApiReply, ok } from './reply.ts'

/**
 * No request is made by a member here, so an assignment to one would hold for nothing: new ones are
 * refused. Those of earlier versions are listed and can be removed.
 */
export type Assigned = Extract<AssignmentKind, 'key' | 'member'>

/**
 * @param id of a guardrail; undefined: of all. @param query with `offset` and `limit`.
 * @throws Fault 400 naming the query parameter, 404.
 */
export async function listAssignments(
  kind: Assigned,
  id: string | undefined,
  query: URLSearchParams,
  source: GuardrailSource,
): Promise<ApiReply> {
  const page = pageBy(query)
  const stored = await source.guardrails.all()
  if (id !== undefined && ![...stored.guardrails.map((each) => each.id), ...source.written.map(({ name }) => name)].includes(id))
    throw noGuardrail()
  const entries = kind === 'key' ? await keyAssignments(stored, source) : memberAssignments(stored)
  return page(id === undefined ? entries : entries.filter((entry) => entry.guardrail_id === id))
}

/**
 * In place of what a key or member held before.
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
  if (kind === 'member') {
    await mustBeThere(id, source)
    throw badField('member_user_ids[0]', 'no such member: requests are made by keys here, so assign the guardrail to keys')
  }
  const unknown = subjects.indexOf(undefined)
  if (unknown >= 0) throw badField(`key_hashes[${unknown}]`, 'no such key')
  await mustBeThere(id, source)
  const { by, clock } = source
  const createdAt = Math.floor(clock.now())
  const named = [...new Set(subjects)].filter((subject) => subject !== undefined)
  const made = named.map((subject) => ({ kind, subject, guardrail: id, id: randomUUID(), by, createdAt }))
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
  const named = subjects.filter((subject) => subject !== undefined)
  return ok({ unassigned_count: await source.guardrails.unassign(kind, id, named, source.origin) })
}

/** Identities of the keys that a body names by their hashes, undefined for those that are not there; or ids of members. */
async function findSubjects(kind: Assigned, body: JsonObject, source: GuardrailSource): Promise<(string | undefined)[]> {
  if (kind === 'member') {
    checkMembers(body)
    return body.member_user_ids as string[]
  }
  checkKeyHashes(body)
  const byHash = new Map((await allKeys(source)).map((key) => [key.hash, key.identity]))
  return (body.key_hashes as string[]).map((hash) => byHash.get(hash))
}

async function mustBeThere(id: string, { guardrails }: GuardrailSource): Promise<void> {
  if (!(await guardrails.all()).guardrails.some((each) => each.id === id)) throw noGuardrail()
}
