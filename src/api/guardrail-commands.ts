/** Guardrail commands of the command line, in one form: sent to the running gateway, or run on a file without an owner. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { AuditRow } from '../store/guardrails.ts'
import type { FindingsReply } from './admin-replies.ts'
import { timesAround } from './generation-times.ts'
import { type GuardrailSource, guardrailEntries, keyAssignments } from './guardrail-entry.ts'
import { allKeys } from './key-entry.ts'

export type GuardrailVerb = 'list' | 'show' | 'audit'

export interface GuardrailCommand {
  verb: GuardrailVerb
  /** Name or id. */
  guardrail?: string | undefined
  /** Of `audit`: name or hash of a key. */
  key?: string | undefined
  /** Of `audit`: milliseconds since the epoch. */
  since?: number | undefined
  /** Of `audit`: id of a generation, also of one that was refused. */
  generation?: string | undefined
  /** Of `audit`: the `next` of the answer before. */
  after?: { at: number; id: string } | undefined
}

const checkCommand = checker(
  Type.Object(
    {
      verb: Type.Enum(['list', 'show', 'audit']),
      guardrail: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      key: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      since: Type.Optional(Type.Integer({ minimum: 0 })),
      generation: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
      after: Type.Optional(Type.Object({ at: Type.Integer(), id: Type.String() }, { additionalProperties: false })),
    },
    { additionalProperties: false },
  ),
)

/** Findings of one answer. */
const PAGE = 500

/** Dependencies of commands that only read. */
export type GuardrailReading = Pick<GuardrailSource, 'guardrails' | 'written' | 'store' | 'configured'>

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404. */
export async function runGuardrailCommand(command: unknown, source: GuardrailReading): Promise<JsonObject> {
  checkCommand(command)
  const { verb, guardrail, ...query } = command as GuardrailCommand
  if (verb === 'audit') return audit({ ...query, guardrail }, source)
  const stored = await source.guardrails.all()
  const entries = guardrailEntries(stored, source)
  const assignments = await keyAssignments(stored, source)
  const held = (entry: JsonObject): JsonObject => ({ ...entry, keys: assignments.filter((each) => each.guardrail_id === entry.id) })
  if (verb === 'list') return { data: entries.map(held) }
  if (guardrail === undefined) throw badField('guardrail', 'is required: a name or an id')
  const byId = entries.filter(({ id }) => id === guardrail)
  const [found, ...others] = byId.length > 0 ? byId : entries.filter(({ name }) => name === guardrail)
  if (!found) throw new Fault('not_found', { message: `No guardrail ${guardrail.slice(0, 100)}` })
  if (others.length > 0)
    throw badField('guardrail', `several are called so; name one by its id: ${[found, ...others].map(({ id }) => id).join(', ')}`)
  return { data: held(found) }
}

async function audit({ key, ...query }: Omit<GuardrailCommand, 'verb'>, source: GuardrailReading): Promise<FindingsReply> {
  const keys = await allKeys(source)
  const named = new Map(keys.map((each) => [each.identity, each.name]))
  // Of a key that is gone the identity still finds what it did.
  const identity = key === undefined ? undefined : (keys.find(({ hash, name }) => hash === key || name === key)?.identity ?? key)
  const rows = await source.guardrails.findings({
    ...query,
    ...(query.generation === undefined ? {} : timesAround(query.generation, 'generation')),
    key: identity,
    limit: PAGE,
  })
  const last = rows.at(-1)
  const next = last && rows.length === PAGE ? { at: last.at, id: last.id } : null
  return { data: rows.map((row) => findingEntry(row, named.get(row.key) ?? null)), next }
}

function findingEntry(
  { at, generation, key, guardrail, name, direction, stage, action, detail }: AuditRow,
  keyName: string | null,
): FindingsReply['data'][number] {
  const { entities, engines, count, hashes, texts } = detail
  return {
    at: new Date(at).toISOString(),
    generation,
    key,
    key_name: keyName,
    guardrail_id: guardrail,
    guardrail: name,
    direction,
    stage,
    action,
    entities: [...entities],
    engines: [...engines],
    count,
    hashes: [...hashes],
    ...(texts ? { texts: [...texts] } : {}),
  }
}
