/** List of the entries of the ledger: GET /v1/ledger/entries. */
import { Fault } from '../core/faults.ts'
import { ENTRY_KINDS } from '../core/ledger-entries.ts'
import { allKeys } from './key-entry.ts'
import { type EntrySource, entryView } from './ledger-entry.ts'
import { choice, cursor, integer, keyHash, text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

const MOST = 200
const USUAL = 50

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
  const found = isElsewhere ? [] : await source.ledger.entries.page(sought)
  const last = found.at(-1)
  return ok({ data: found.map((entry) => entryView(entry, keys)), next_cursor: found.length < limit || !last ? null : String(last.number) })
}
