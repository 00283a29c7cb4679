/** POST /v1/keys/import: keys whose secrets are in use elsewhere, by the hashes of these. Each stands once, however often it is sent. */
import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { asFault, badField, Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { nameIn, plainName } from '../core/plain-name.ts'
import { keyPayer } from '../ledger/payer.ts'
import type { KeyRecord, StoredKey } from '../store/keys.ts'
import { allKeys, withPayers } from './key-entry.ts'
import { CLOSED, dollarNano, line, nullable, readFields, TAKEN } from './key-fields.ts'
import { grantedEnd, requireChange, requireRoleChange } from './key-rights.ts'
import { BLANK_KEY, checkParent, type KeyChangeSource } from './keys.ts'
import { type ApiReply, ok } from './reply.ts'

/** Keys of one call. */
export const MAX_IMPORTED = 1000
/** Errors that one reply has, and that its message names. */
const MAX_ERRORS = 100
const MAX_SHOWN = 5
const MAX_LABEL_LENGTH = 32

const IMPORTED = Type.Object(
  {
    hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the secret, in small hexadecimal digits.' }),
    name: line(),
    label: nullable(
      Type.String({ minLength: 1, maxLength: MAX_LABEL_LENGTH, description: 'The secret, shortened beyond use, with `...` in it.' }),
    ),
    usage: nullable(
      Type.Number({
        minimum: 0,
        maximum: MAX_USD,
        description: 'USD that it has spent elsewhere: a correction of the ledger, which counts today.',
      }),
    ),
    ...TAKEN,
  },
  CLOSED,
)

export const checkImport = checker(
  Type.Object(
    {
      keys: Type.Array(IMPORTED, { minItems: 1, maxItems: MAX_IMPORTED }),
      overwrite: Type.Optional(
        Type.Boolean({ description: 'True: the terms of keys that are in the store already become those that are sent.' }),
      ),
    },
    CLOSED,
  ),
)

/** The list alone: errors of its members are gathered. */
const checkEnvelope = checker(
  Type.Object(
    { keys: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_IMPORTED }), overwrite: Type.Optional(Type.Boolean()) },
    CLOSED,
  ),
)
const checkOne = checker(IMPORTED)

interface Imported {
  readonly key: KeyRecord
  /** Nano-dollars. */
  readonly usage: number
}

type Outcome = 'created' | 'exists' | 'replaced'

/**
 * Nothing is imported where any key is wrong. A key that is there, in the store or in the configuration, is reported and left as it is
 * unless `overwrite` is true.
 * @throws Fault 400 naming each wrong field with the place of its key, 403 for roles beyond the caller's rights.
 */
export async function importKeys(body: JsonObject, source: KeyChangeSource): Promise<ApiReply> {
  checkEnvelope(body)
  const rows = Array.isArray(body.keys) ? body.keys : []
  const imported = parseAll(rows, source)
  const there = new Map(
    (await allKeys(source)).flatMap((key) => [key.hash, key.identity, key.previous?.hash ?? key.hash].map((by) => [by, key])),
  )
  const data: JsonObject[] = []
  const counts: Record<Outcome, number> = { created: 0, exists: 0, replaced: 0 }
  for (const [index, one] of imported.entries()) {
    const found = there.get(one.key.hash)
    const isOwn = found !== undefined && 'createdAt' in found && found.hash === one.key.hash && found.consent === undefined
    const status = found ? (body.overwrite === true && isOwn ? await replaced(one, source) : 'exists') : await added(one, source)
    counts[status]++
    data.push({ index, hash: found?.hash ?? one.key.hash, name: found && status === 'exists' ? found.name : one.key.name, status })
  }
  return ok({ data, ...counts })
}

function parseAll(rows: readonly unknown[], source: KeyChangeSource): Imported[] {
  const errors: { index: number; field: string; message: string }[] = []
  const hashes = new Map<string, number>()
  const imported = rows.flatMap((row, index) => {
    try {
      if (!isObject(row)) throw new Fault('bad_request', { message: 'expected an object' })
      const one = parseOne(row, source)
      const first = hashes.get(one.key.hash)
      if (first !== undefined) throw badField('hash', `the same as that of keys[${first}]`)
      hashes.set(one.key.hash, index)
      return [one]
    } catch (thrown) {
      const fault = asFault(thrown)
      if (fault.code !== 'bad_request') throw fault
      const end = fault.message.indexOf(': ')
      errors.push({ index, field: end < 0 ? '' : fault.message.slice(0, end), message: fault.message.slice(end < 0 ? 0 : end + 2) })
      return []
    }
  })
  if (errors.length === 0) return imported
  const places = errors
    .slice(0, MAX_ERRORS)
    .map(({ index, field, message }) => ({ field: `keys[${index}]${field === '' ? '' : `.${field}`}`, message }))
  const shown = places.slice(0, MAX_SHOWN).map(({ field, message }) => `${field}: ${message}`)
  const more = errors.length > MAX_SHOWN ? `; ${errors.length - MAX_SHOWN} more` : ''
  throw new Fault('bad_request', {
    message: `${shown.join('; ')}${more}. Nothing was imported`,
    metadata: { field: places[0]?.field ?? 'keys', errors: places },
  })
}

function parseOne(row: JsonObject, source: KeyChangeSource): Imported {
  checkOne(row)
  const { hash, name, label, usage, expires_at: end, ...fields } = row
  const digest = String(hash)
  // A key that has ended elsewhere has ended here.
  const expiresAt = typeof end === 'string' ? importedEnd(end) : null
  const changes = readFields(fields, source.clock.now())
  const role = changes.role ?? 'member'
  const key: KeyRecord = {
    ...BLANK_KEY,
    creator: null,
    ...changes,
    role,
    expiresAt: grantedEnd(source.caller, { role, expiresAt }),
    identity: digest,
    hash: digest,
    label: typeof label === 'string' ? maskIn(label) : `...${digest.slice(0, 8)}`,
    name: nameIn(String(name), 'name'),
  }
  checkParent(key, source, key)
  return { key, usage: typeof usage === 'number' ? dollarNano(usage) : 0 }
}

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]00:00)$/

function importedEnd(text: string): number {
  const at = UTC.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw badField('expires_at', 'expected a time in UTC such as 2027-01-31T00:00:00Z')
  return at
}

/** A mask without its dots may be a whole secret. */
function maskIn(label: string): string {
  const plain = plainName(label)
  if (!plain.includes('...')) throw badField('label', 'expected a shortened secret with ... in it, such as sk-...1a2b')
  return plain
}

/** The correction comes before the key: where a call ends in between, the same one again adds the key, and the correction once. */
async function added({ key, usage }: Imported, source: KeyChangeSource): Promise<Outcome> {
  if (usage > 0) await chargeImported(key, usage, source)
  try {
    await source.store.add(key, source.origin)
    return 'created'
  } catch (thrown) {
    if (asFault(thrown).code === 'conflict') return 'exists'
    throw thrown
  }
}

async function chargeImported(key: KeyRecord, usage: number, source: KeyChangeSource): Promise<void> {
  const now = Math.floor(source.clock.now())
  if (!source.entries) throw new Fault('unavailable', { message: 'What keys have spent cannot be written here' })
  await source.entries.add(
    {
      id: `ent_${randomBytes(12).toString('hex')}`,
      at: now,
      key: key.identity,
      payer: keyPayer(withPayers(key, source)),
      model: '',
      provider: '',
      kind: 'correction',
      amount: usage,
      countedAt: now,
      actor: source.origin.actor.name ?? source.origin.actor.kind,
      reason: 'Spent before the key was imported',
      once: `import:${key.hash}`,
    },
    source.origin,
  )
}

async function replaced({ key }: Imported, source: KeyChangeSource): Promise<Outcome> {
  const change = (found: StoredKey): KeyRecord => {
    requireChange(source.caller, found)
    requireRoleChange(source.caller, found, key.role)
    return { ...key, previous: found.previous, label: found.label }
  }
  return (await source.store.change(key.hash, change, source.origin)) ? 'replaced' : 'exists'
}
