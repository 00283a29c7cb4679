/** Ids of providers in the paths of pass-through requests: a signed one is of use to the key that got it, at the account that gave it. */
import { Fault } from '../../core/faults.ts'
import { parseSignedId, SIGNED_ID } from '../../dialects/canon/provider-ids.ts'
import { type IdOwner, isOwn } from './native-ids.ts'

/** A segment of the path, or a value of the query. */
const PARTS = /[^/?&=#]+/g

/**
 * @param path with its query, as the caller sent it.
 * @returns the path as the provider knows the ids. @throws Fault 404 for an id of another key, another account, or one that was changed.
 */
export async function withPlainPath(path: string, owner: IdOwner): Promise<string> {
  const readable = path.replace(/%7e/gi, '~')
  if (!readable.includes(SIGNED_ID)) return path
  const plain = new Map<string, string>()
  for (const [part] of readable.matchAll(PARTS)) {
    if (!part.includes(SIGNED_ID)) continue
    const signed = parseSignedId(part)
    if (!signed || !(await isOwn(part, owner)))
      throw new Fault('not_found', { message: 'path: no such id; expected one that a reply to this key has shown' })
    plain.set(part, signed.id)
  }
  return readable.replace(PARTS, (part) => plain.get(part) ?? part)
}
