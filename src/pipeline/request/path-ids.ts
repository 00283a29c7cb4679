/** Ids of providers in the paths of pass-through requests: a signed one is of use to the key that got it, at the account that gave it. */
import { Fault } from '../../core/faults.ts'
import { parseSignedId, SIGNED_ID } from '../../dialects/canon/provider-ids.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { EncryptedTexts } from '../../services/compaction/encrypted-texts.ts'

/** A segment of the path, or a value of the query. */
const PARTS = /[^/?&=#]+/g

/**
 * @param path with its query, as the caller sent it. @param owner identity of the key.
 * @returns the path as the provider knows the ids. @throws Fault 404 for an id of another key, another account, or one that was changed.
 */
export async function withPlainPath(
  path: string,
  { owner, provider, summaries }: { owner: string; provider: Provider; summaries: EncryptedTexts },
): Promise<string> {
  const readable = path.replace(/%7e/gi, '~')
  if (!readable.includes(SIGNED_ID)) return path
  const account = accountLetters(provider)
  const plain = new Map<string, string>()
  for (const [part] of readable.matchAll(PARTS)) {
    if (!part.includes(SIGNED_ID)) continue
    const signed = parseSignedId(part)
    if (signed) await summaries.prepareNumbers([signed.key])
    if (!signed || signed.account !== account || !summaries.isSigned(`${account} ${signed.id}`, owner, signed))
      throw new Fault('not_found', { message: 'path: no such id; expected one that a reply to this key has shown' })
    plain.set(part, signed.id)
  }
  return readable.replace(PARTS, (part) => plain.get(part) ?? part)
}
