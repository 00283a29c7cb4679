/** Ids of providers that are signed for a key (docs/decisions/0030-ids-of-providers.md), in a provider's own request bodies. */
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseSignedId, SIGNED_ID, signedIdsIn } from '../../dialects/canon/provider-ids.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { EncryptedTexts } from '../../services/compaction/encrypted-texts.ts'

/** A JSON text that is one signed id, between its quotes. */
const QUOTED = /"([\x21\x23-\x5b\x5d-\x7d]{1,400}~hg1\.[1-9]\d{0,5}\.[\w-]{8}\.[\w-]{22})"/g

export interface IdOwner {
  /** Identity of the key. */
  readonly owner: string
  readonly provider: Provider
  readonly summaries: EncryptedTexts
}

/** True where the account of the provider gave the id to the key, by its signature. */
export async function isOwn(text: string, { owner, provider, summaries }: IdOwner): Promise<boolean> {
  const signed = parseSignedId(text)
  if (!signed) return false
  await summaries.prepareNumbers([signed.key])
  const account = accountLetters(provider)
  return signed.account === account && summaries.isSigned(`${account} ${signed.id}`, owner, signed)
}

/**
 * @param body what stands in the bytes.
 * @returns the bytes with the ids as the provider knows them, and every other byte as it came; the very bytes where there is none.
 * @throws Fault 404 for an id of another key, of another account, or one that was changed.
 */
export async function withPlainBody(bytes: Buffer, body: JsonObject, owner: IdOwner): Promise<Buffer> {
  if (!bytes.includes(SIGNED_ID)) return bytes
  const own = new Set<string>()
  for (const { path, text } of signedIdsIn(body)) {
    if (!own.has(text) && !(await isOwn(text, owner)))
      throw new Fault('not_found', {
        message: `${path}: no such id; expected one that a reply to this key has shown`,
        metadata: { field: path },
      })
    own.add(text)
  }
  if (own.size === 0) return bytes
  const plain = bytes.toString('latin1').replace(QUOTED, (whole, text: string) => {
    const id = own.has(text) ? parseSignedId(text)?.id : undefined
    return id === undefined ? whole : `"${id}"`
  })
  return Buffer.from(plain, 'latin1')
}
