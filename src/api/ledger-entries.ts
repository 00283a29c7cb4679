/** Entries of the ledger: /v1/ledger/entries, and the command line's commands on them. */

import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { ENTRY_KINDS, type EntryKind, type EntryRefusal, generationOf, type LedgerEntry, type NewEntry } from '../core/ledger-entries.ts'
import { usd } from '../core/money.ts'
import { nanoFromUsdNumber, usdText } from '../core/money-text.ts'
import type { LedgerEntries } from '../ledger/entries.ts'
import { factsOf } from '../ledger/facts.ts'
import { payerOf } from '../ledger/payer.ts'
import type { HoldRow, LedgerReader, SettleRow } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { MOST_USD } from './key-body.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { hashNamed } from './named-key.ts'
import { choice, cursor, integer, keyHash, text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface EntrySource extends Pick<KeySource, 'configured' | 'store' | 'clock'> {
  readonly ledger: Pick<LedgerReader, 'find' | 'entries'>
}

/** Those that an operator makes; the gateway makes the others. */
const MADE = ['correction', 'refund', 'write_off'] as const satisfies readonly EntryKind[]

const LONGEST_REASON = 1000
const LONGEST_NAME = 256
const MOST = 200
const USUAL = 50

export const checkEntry = checker(
  Type.Object(
    {
      kind: Type.Enum([...MADE]),
      amount: Type.Number({ minimum: -MOST_USD, maximum: MOST_USD }),
      reason: Type.String({ minLength: 1, maxLength: LONGEST_REASON }),
      api_key_hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
      generation_id: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
      settles: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
      idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: LONGEST_NAME })),
    },
    // A misspelt `generation_id` would change what the entry is about.
    { additionalProperties: false },
  ),
)

const ofKey = keyHash('Only those of this key.')
const ofGeneration = text('generation_id', 'Only those about this generation.', { maxLength: 80 })
const order = choice('order', '`newest` for the newest first.', ['oldest', 'newest'], 'newest')
const ofKind = choice('kind', 'Only those of this kind.', ENTRY_KINDS, 'refund')
const rows = integer('limit', 'Entries per page at most; 50 without it.', { least: 1, most: MOST, example: USUAL })
export const ENTRIES_QUERY = [ofKey, ofGeneration, order, ofKind, cursor, rows]

/** @param query with `ENTRIES_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listEntries(query: URLSearchParams, source: EntrySource): Promise<ApiReply> {
  const limit = rows.read(query) ?? USUAL
  const hash = ofKey.read(query)
  const keys = await allKeys(source)
  const id = ofGeneration.read(query)
  const about = id === undefined ? undefined : (await source.ledger.find(id))?.hold
  if (id !== undefined && !about) throw new Fault('not_found', { message: 'No such generation' })
  // A key that is gone is known by the hash that it was made with.
  const key = hash === undefined ? undefined : (keys.find((each) => each.hash === hash)?.identity ?? hash)
  const isElsewhere = about !== undefined && key !== undefined && about.key !== key
  const sought = {
    after: cursor.read(query) ?? 0,
    newestFirst: order.read(query) === 'newest',
    limit,
    key: about?.key ?? key,
    kind: ofKind.read(query),
    generation: about && { seq: about.seq, tag: about.tag },
  }
  const found = isElsewhere ? [] : await entriesOf(source).page(sought)
  const last = found.at(-1)
  return ok({ data: found.map((entry) => entryView(entry, keys)), next_cursor: found.length < limit || !last ? null : String(last.number) })
}

/**
 * Adds an entry, and moves what its key has spent in the same step.
 * @param actor who makes it: the creator of the management key, or the key's name.
 * @throws Fault 400 naming the field, 404 for what it names and is not there, 409 where it takes more than there is, or where the
 * idempotency key is that of another entry.
 */
export async function addEntry(body: JsonObject, source: EntrySource, actor: string): Promise<ApiReply> {
  checkEntry(body)
  const kind = MADE.find((each) => each === body.kind) ?? 'correction'
  const amount = nanoOf(kind, Number(body.amount))
  const about = await aboutOf(body, source)
  const entry: NewEntry = {
    ...about,
    id: `ent_${randomBytes(12).toString('hex')}`,
    at: Math.floor(source.clock.now()),
    kind,
    amount,
    countedAt: kind === 'write_off' ? 0 : about.countedAt,
    actor: actor.slice(0, LONGEST_NAME),
    reason: String(body.reason),
    once: typeof body.idempotency_key === 'string' ? body.idempotency_key : undefined,
  }
  const found = await entriesOf(source).add(entry)
  if (typeof found === 'string') throw refusal(found, entry)
  if (found.kind !== kind || found.amount !== amount || found.key !== about.key)
    throw new Fault('conflict', { message: `idempotency_key: it is that of another entry, ${found.id}` })
  return { status: found.id === entry.id ? 201 : 200, body: { data: entryView(found, await allKeys(source)) } }
}

/** Nano-dollars. @throws Fault 400. */
function nanoOf(kind: (typeof MADE)[number], dollars: number): number {
  if (dollars === 0 || (dollars < 0 && kind !== 'correction'))
    throw badField('amount', kind === 'correction' ? 'expected another number than 0' : 'expected a number above 0')
  const nano = nanoFromUsdNumber(Math.abs(dollars))
  if (nano === undefined || nano === 0) throw badField('amount', 'expected USD with at most 9 decimals')
  return dollars < 0 ? -nano : nano
}

type About = Pick<NewEntry, 'key' | 'payer' | 'generation' | 'model' | 'provider' | 'settles' | 'countedAt'>

/** Subject of the entry: the entry that it settles, else the generation, else the key. @throws Fault 400, 404. */
async function aboutOf({ api_key_hash: hash, generation_id: id, settles }: JsonObject, source: EntrySource): Promise<About> {
  const now = Math.floor(source.clock.now())
  const named = [hash, id, settles].filter((each) => each !== undefined)
  if (named.length !== 1) throw badField('api_key_hash', 'expected one of: api_key_hash, generation_id, settles')
  if (typeof settles === 'string') {
    const [entry] = await entriesOf(source).page({ after: 0, limit: 1, id: settles })
    if (!entry || (entry.kind !== 'unrecovered' && entry.kind !== 'disputed'))
      throw new Fault('not_found', { message: `No entry ${settles} of what was lost` })
    const { key, payer, generation } = entry
    const names = (await namesOf(entry, source)) ?? { model: entry.model, provider: entry.provider }
    return { key, payer, generation, ...names, settles, countedAt: now }
  }
  if (typeof id === 'string') {
    const record = await source.ledger.find(id)
    if (!record?.settled) throw new Fault('not_found', { message: `No settled generation ${id}` })
    const { hold, settled } = record
    return {
      key: hold.key,
      payer: hold.payer,
      generation: { seq: hold.seq, tag: hold.tag },
      ...servedBy(hold, settled),
      // It counts where the charge counted: a refund of last month leaves this month's limit as it is.
      countedAt: settled.at > 0 ? settled.at : record.at,
    }
  }
  const key = (await allKeys(source)).find((each) => each.hash === hash)
  if (!key) throw new Fault('not_found', { message: 'No such key' })
  return { key: key.identity, payer: payerOf(key) ?? key.consent?.by, model: '', provider: '', countedAt: now }
}

/** Names under which sums of use have a generation. */
function servedBy(hold: HoldRow, settled: SettleRow): Pick<NewEntry, 'model' | 'provider'> {
  const { model, provider } = factsOf(settled)
  return { model: typeof model === 'string' ? model : hold.model, provider: typeof provider === 'string' ? provider : '' }
}

/** Those of the generation of an entry; undefined where it is no longer kept. */
async function namesOf(entry: LedgerEntry, source: EntrySource): Promise<Pick<NewEntry, 'model' | 'provider'> | undefined> {
  const id = generationOf(entry)
  const record = id === null ? undefined : await source.ledger.find(id)
  return record?.settled && servedBy(record.hold, record.settled)
}

function refusal(why: EntryRefusal, { settles, amount }: NewEntry): Fault {
  switch (why) {
    case 'no_such_entry':
      return new Fault('not_found', { message: `No entry ${settles}` })
    case 'more_than_open':
      return new Fault('conflict', { message: `amount: of ${settles} less than $${usdText(Math.abs(amount))} is open` })
    case 'more_than_spent':
      return new Fault('conflict', { message: `amount: the key has spent less than $${usdText(Math.abs(amount))}` })
  }
}

/** @throws Fault `unavailable` where nothing keeps entries. */
function entriesOf({ ledger: { entries } }: EntrySource): LedgerEntries {
  if (!entries) throw new Fault('unavailable', { message: 'This store keeps no entries' })
  return entries
}

function entryView(entry: LedgerEntry, keys: readonly ApiKey[]): JsonObject {
  const { id, at, kind, amount, key, settles, countedAt, actor, reason, once } = entry
  const of = keys.find(({ identity }) => identity === key)
  return {
    id,
    created_at: new Date(at).toISOString(),
    kind,
    amount: usd(amount),
    amount_nano: amount,
    api_key_hash: of?.hash ?? key,
    api_key_name: of?.name ?? null,
    generation_id: generationOf(entry),
    settles: settles ?? null,
    counted_at: countedAt > 0 ? new Date(countedAt).toISOString() : null,
    actor,
    reason,
    idempotency_key: once ?? null,
  }
}

/** Commands of the command line: `list`, and `add` with the fields of the operation. `key` is a name, a hash or the beginning of one. */
export async function runEntryCommand(command: JsonObject, source: EntrySource): Promise<JsonObject> {
  const { verb, fields = {}, key } = command
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw badField('fields', 'expected an object')
  const hash: Json | undefined = typeof key === 'string' ? await hashNamed(key, source) : undefined
  if (verb === 'add')
    return (await addEntry({ ...fields, ...(hash === undefined ? {} : { api_key_hash: hash }) }, source, 'command line')).body
  if (verb !== 'list') throw badField('verb', 'expected list or add')
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) query.set(name, String(value))
  if (typeof hash === 'string') query.set('api_key_hash', hash)
  return (await listEntries(query, source)).body
}
