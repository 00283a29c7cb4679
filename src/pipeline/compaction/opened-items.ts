/** Compaction items of the gateway's own, opened before anything else reads the request: they count, and are read, as what they say. */
import { badField } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ClientCompaction, CompactionFacts, CompactionItem } from '../../dialects/canon/compaction.ts'
import type { EncryptedTexts, Unopened } from '../../services/compaction/encrypted-texts.ts'
import type { Authenticated } from '../exchange.ts'

/** Stands in front of each summary. It never changes, so that a provider's cache holds from one turn to the next. */
export const PREFACE =
  'The conversation up to here was replaced by the summary below. A model that had read all of it wrote the summary, so that you can go on without the rest. What it reports as done is done.\n\n'

const REASONS: Readonly<Record<Unopened, string>> = {
  version: 'this compaction item was made by another version of the gateway',
  key: 'this compaction item was made with a key that the gateway no longer has',
  tag: 'this compaction item cannot be opened: it was made for another API key, or has been changed',
}

export interface FoundItems {
  readonly body: JsonObject
  readonly facts: CompactionFacts
}

/**
 * @returns the body with a message in the place of each item that this gateway made, and the items that are left.
 * @throws Fault 400 naming the item that cannot be opened, 503 where no key can be read.
 */
export async function openItems(
  { auth: { key }, head: { connection } }: Authenticated,
  { body, facts }: FoundItems,
  { withTexts }: ClientCompaction,
  summaries: EncryptedTexts,
): Promise<FoundItems> {
  const own = facts.items.filter(({ encrypted }) => summaries.isOwn(encrypted))
  if (own.length === 0) return { body, facts }
  await summaries.prepare(own.map(({ encrypted }) => encrypted))
  const texts = new Map(own.map((item) => [item.index, PREFACE + opened(item, key.identity, summaries)]))
  let bytes = 0
  for (const text of texts.values()) bytes += Buffer.byteLength(text)
  await connection.reserve?.(bytes)
  return { body: withTexts(body, texts), facts: { ...facts, items: facts.items.filter((item) => !texts.has(item.index)) } }
}

function opened({ path, encrypted }: CompactionItem, owner: string, summaries: EncryptedTexts): string {
  const result = summaries.decrypt(encrypted, owner)
  if ('unopened' in result) throw badField(path, REASONS[result.unopened])
  return result.text
}
