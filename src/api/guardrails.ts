/** The management of guardrails: /v1/guardrails. What is changed is in force here at once, and everywhere within a second. */
import { randomUUID } from 'node:crypto'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { StoredGuardrail } from '../store/guardrails.ts'
import { checkTogether, type GuardrailBody, guardrailChanges, makingGuardrail } from './guardrail-body.ts'
import {
  DEFAULT_GUARDRAIL,
  fileEntry,
  type GuardrailSource,
  guardrailEntries,
  OWN_GUARDRAIL,
  storedEntry,
  workspaceGuardrail,
} from './guardrail-entry.ts'
import type { ChangeSource } from './origin.ts'
import { integer, text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Stored guardrails: every request of a key with all of them would be read for all of them. */
const MAX_GUARDRAILS = 1000
/** Tries of a change: each fails only because another one went through. */
const MAX_TRIES = 100
const MAX_PAGE_LENGTH = 100
const USUAL_PAGE = 50

const skipped = integer('offset', 'Entries to skip.', { example: 0 })
const rows = integer('limit', 'Entries per page at most; 50 by default.', { least: 1, most: MAX_PAGE_LENGTH, example: USUAL_PAGE })
export const PAGING = [skipped, rows]
export const workspace = text('workspace_id', 'Only this workspace.')

/** @param query with `PAGING` and `workspace`. @throws Fault 400 naming the query parameter. */
export async function listGuardrails(query: URLSearchParams, source: GuardrailSource): Promise<ApiReply> {
  const page = pageBy(query)
  const isHere = (workspace.read(query) ?? WORKSPACE) === WORKSPACE
  return page(isHere ? guardrailEntries(await source.guardrails.all(), source) : [])
}

/** @returns a function that cuts the page that a query names. @throws Fault 400 naming the query parameter. */
export function pageBy(query: URLSearchParams): (entries: readonly JsonObject[]) => ApiReply {
  const offset = skipped.read(query) ?? 0
  const limit = rows.read(query) ?? USUAL_PAGE
  return (entries) => ok({ data: entries.slice(offset, offset + limit), total_count: entries.length })
}

/** @throws Fault 404. */
export async function oneGuardrail(id: string, source: GuardrailSource): Promise<ApiReply> {
  const written = source.written.find(({ name }) => name === id)
  if (written) return ok({ data: fileEntry(written) })
  const { guardrails, assignments } = await source.guardrails.all()
  const found = guardrails.find((each) => each.id === id)
  if (!found) throw noGuardrail()
  const everywhere = assignments.some(({ kind, guardrail }) => kind === 'workspace' && guardrail === id)
  return ok({ data: storedEntry(found, everywhere) })
}

/** Until it is assigned it does nothing. @throws Fault 400 naming the field. */
export async function createGuardrail(body: JsonObject, source: GuardrailSource & ChangeSource): Promise<ApiReply> {
  const { name, fields } = makingGuardrail(body, source.there)
  const made = await make(source.guardrailId?.() ?? randomUUID(), { name, fields }, source)
  return { status: 201, body: { data: storedEntry(made, false) } }
}

async function make(
  id: string,
  { name, fields }: Required<GuardrailBody>,
  source: GuardrailSource & ChangeSource,
): Promise<StoredGuardrail> {
  await check(name, fields, source)
  const { guardrails } = await source.guardrails.all()
  if (guardrails.length >= MAX_GUARDRAILS) throw badField('name', `there are ${MAX_GUARDRAILS} guardrails, which is the most`)
  const made = { id, version: 1, name, fields, createdAt: Math.floor(source.clock.now()), updatedAt: null }
  if (!(await source.guardrails.put(made, 0, source.origin)))
    throw new Fault('conflict', { message: 'The guardrail has just been made by another request' })
  return made
}

/**
 * Collections are replaced as a whole. The workspace's own guardrail is made by its first change.
 * @param by the caller, for its assignment.
 * @throws Fault 400 naming the field, 404, 409 for a guardrail of the configuration.
 */
export async function changeGuardrail(id: string, body: JsonObject, source: GuardrailSource & ChangeSource, by: string): Promise<ApiReply> {
  refuseWritten(id, source)
  const changes = guardrailChanges(body, source.there)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = (await source.guardrails.all()).guardrails.find((each) => each.id === id)
    const workspace = await workspaceWith(id, source)
    if (!found && workspace === undefined) throw noGuardrail()
    const changed = found ? await replaced(found, changes, source) : await firstMade(id, changes, source)
    if (!changed) continue
    if (workspace !== undefined) await holdInWorkspace(workspace, id, { ...source, by })
    return oneGuardrail(id, source)
  }
  throw new Fault('unavailable', { message: 'The guardrail is changed too often', retryAfter: 1 })
}

/** @returns false where another change came first. */
async function replaced(found: StoredGuardrail, changes: GuardrailBody, source: GuardrailSource & ChangeSource): Promise<boolean> {
  const { name = found.name } = changes
  const fields = { ...found.fields, ...changes.fields }
  await check(name, fields, source)
  const next = { ...found, version: found.version + 1, name, fields, updatedAt: Math.floor(source.clock.now()) }
  return source.guardrails.put(next, found.version, source.origin)
}

/** Id of the workspace whose own guardrail has this id; undefined where none has. */
async function workspaceWith(id: string, { levels }: Pick<GuardrailSource, 'levels'>): Promise<string | undefined> {
  if (id === DEFAULT_GUARDRAIL) return WORKSPACE
  // The form alone says that it is none of them.
  if (!levels || !OWN_GUARDRAIL.test(id)) return undefined
  await levels.renew()
  return levels.tree.list('workspace').find((level) => workspaceGuardrail(level.id) === id)?.id
}

async function firstMade(
  id: string,
  { name = 'Workspace default', fields }: GuardrailBody,
  source: GuardrailSource & ChangeSource,
): Promise<boolean> {
  try {
    await make(id, { name, fields }, source)
    return true
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'conflict') return false
    throw thrown
  }
}

async function holdInWorkspace(
  workspace: string,
  guardrail: string,
  { guardrails, clock, origin, by }: GuardrailSource & ChangeSource & { by: string },
): Promise<void> {
  const { assignments } = await guardrails.all()
  if (assignments.some((each) => each.kind === 'workspace' && each.subject === workspace && each.guardrail === guardrail)) return
  const createdAt = Math.floor(clock.now())
  await guardrails.assign([{ kind: 'workspace', subject: workspace, guardrail, id: randomUUID(), by, createdAt }], origin)
}

async function check(name: string, fields: JsonObject, source: GuardrailSource): Promise<void> {
  checkTogether(fields)
  await source.tryOut(name, fields)
}

/** With its assignments; what it has found stays in the audit trail. @throws Fault 404, 409 for a guardrail of the configuration. */
export async function removeGuardrail(id: string, source: GuardrailSource & ChangeSource): Promise<ApiReply> {
  refuseWritten(id, source)
  if (!(await source.guardrails.remove(id, source.origin))) throw noGuardrail()
  return ok({ deleted: true })
}

/** @throws Fault 409 for a guardrail of the configuration. */
export function refuseWritten(id: string, { written }: Pick<GuardrailSource, 'written'>): void {
  if (written.some(({ name }) => name === id))
    throw new Fault('conflict', { message: `The guardrail ${id} stands in the configuration file: change it there` })
}

export function noGuardrail(): Fault {
  return new Fault('not_found', { message: 'No such guardrail' })
}
