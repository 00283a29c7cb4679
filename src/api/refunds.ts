/** Refunds, corrections and write-offs: the entries that an operator adds to the ledger. */
import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { type EntryKind, type EntryRefusal, entryGeneration, type LedgerEntry, type NewEntry } from '../core/ledger-entries.ts'
import { MAX_USD } from '../core/money.ts'
import { nanoFromUsdNumber, usdText } from '../core/money-text.ts'
import { parseFacts } from '../ledger/facts.ts'
import { keyPayer } from '../ledger/payer.ts'
import type { HoldRow, SettleRow } from '../ledger/types.ts'
import { allKeys } from './key-entry.ts'
import { type EntrySource, entryView } from './ledger-entry.ts'
import type { ChangeSource } from './origin.ts'
import type { ApiReply } from './reply.ts'

/** Kinds that an operator adds; the gateway adds the others with a settlement. */
const MADE = ['correction', 'refund', 'write_off'] as const satisfies readonly EntryKind[]

const MAX_REASON_LENGTH = 1000
const MAX_NAME_LENGTH = 256

export const checkEntry = checker(
  Type.Object(
    {
      kind: Type.Enum([...MADE]),
      amount: Type.Number({ minimum: -MAX_USD, maximum: MAX_USD }),
      reason: Type.String({ minLength: 1, maxLength: MAX_REASON_LENGTH }),
      api_key_hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
      generation_id: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
      settles: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
      idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
    },
    // A misspelt `generation_id` would change what the entry is about.
    { additionalProperties: false },
  ),
)

/**
 * Adds an entry, and moves what its key has spent in the same step.
 * @param actor who makes it: the creator of the management key, or the key's name.
 * @throws Fault 400 naming the field, 404 for what it names and is not there, 409 where it takes more than there is, or where the
 * idempotency key is that of another entry.
 */
export async function addEntry(body: JsonObject, source: EntrySource & ChangeSource, actor: string): Promise<ApiReply> {
  checkEntry(body)
  const kind = MADE.find((each) => each === body.kind) ?? 'correction'
  const amount = entryNano(kind, Number(body.amount))
  const about = await findSubject(body, source)
  const entry: NewEntry = {
    ...about,
    id: `ent_${randomBytes(12).toString('hex')}`,
    at: Math.floor(source.clock.now()),
    kind,
    amount,
    countedAt: kind === 'write_off' ? 0 : about.countedAt,
    actor: actor.slice(0, MAX_NAME_LENGTH),
    reason: String(body.reason),
    once: typeof body.idempotency_key === 'string' ? body.idempotency_key : undefined,
  }
  const found = await source.ledger.entries.add(entry, source.origin)
  if (typeof found === 'string') throw refusal(found, entry)
  if (found.kind !== kind || found.amount !== amount || found.key !== about.key)
    throw new Fault('conflict', { message: `idempotency_key: it is that of another entry, ${found.id}` })
  return { status: found.id === entry.id ? 201 : 200, body: { data: entryView(found, await allKeys(source)) } }
}

/** Nano-dollars. @throws Fault 400. */
function entryNano(kind: (typeof MADE)[number], dollars: number): number {
  if (dollars === 0 || (dollars < 0 && kind !== 'correction'))
    throw badField('amount', kind === 'correction' ? 'expected another number than 0' : 'expected a number above 0')
  const nano = nanoFromUsdNumber(Math.abs(dollars))
  if (nano === undefined || nano === 0) throw badField('amount', 'expected USD with at most 9 decimals')
  return dollars < 0 ? -nano : nano
}

type About = Pick<NewEntry, 'key' | 'payer' | 'generation' | 'model' | 'provider' | 'settles' | 'countedAt'>

/** Subject of the entry: the entry that it settles, else the generation, else the key. @throws Fault 400, 404. */
async function findSubject({ api_key_hash: hash, generation_id: id, settles }: JsonObject, source: EntrySource): Promise<About> {
  const now = Math.floor(source.clock.now())
  const named = [hash, id, settles].filter((each) => each !== undefined)
  if (named.length !== 1) throw badField('api_key_hash', 'expected one of: api_key_hash, generation_id, settles')
  if (typeof settles === 'string') {
    const [entry] = await source.ledger.entries.page({ after: 0, limit: 1, id: settles })
    if (!entry || (entry.kind !== 'unrecovered' && entry.kind !== 'disputed'))
      throw new Fault('not_found', { message: `No entry ${settles} of what was lost` })
    const { key, payer, generation } = entry
    const names = (await entryNames(entry, source)) ?? { model: entry.model, provider: entry.provider }
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
  return { key: key.identity, payer: keyPayer(key) ?? key.consent?.by, model: '', provider: '', countedAt: now }
}

/** Names under which sums of use have a generation. */
function servedBy(hold: HoldRow, settled: SettleRow): Pick<NewEntry, 'model' | 'provider'> {
  const { model, provider } = parseFacts(settled)
  return { model: typeof model === 'string' ? model : hold.model, provider: typeof provider === 'string' ? provider : '' }
}

/** Those of the generation of an entry; undefined where it is no longer kept. */
async function entryNames(entry: LedgerEntry, source: EntrySource): Promise<Pick<NewEntry, 'model' | 'provider'> | undefined> {
  const id = entryGeneration(entry)
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
      return new Fault('conflict', {
        message: `amount: the key, or a budget that it draws on, has spent less than $${usdText(Math.abs(amount))}, expected the generation_id of the charge`,
      })
  }
}
