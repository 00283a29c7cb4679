/**
 * Owner of an id of the pass-through: rows of the store say so (docs/decisions/0061-ids-of-the-pass-through.md), by a hash of the account
 * and the id.
 */
import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fault } from '../../core/faults.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import { isListed } from '../request/provider-ids.ts'
import { idsInPath } from './id-forms.ts'

export type IdRows = Pick<GivenIdStore, 'find'>

/** Owner of the ids. */
export interface IdHolder {
  readonly key: ApiKey
  readonly provider: Provider
}

/** Names in a request, as far as they are known. */
export interface NamedIds {
  readonly texts: Set<string>
  /** True where the path, however a server reads it, is that of something that was given to the key. */
  readonly isOfOwn: boolean
  /** True where one of them was given to the key. */
  readonly hasOwn: boolean
  /** True once the body has a member by which a generation is kept. */
  keeps: boolean
}

const ownerRowId = (owner: readonly string[], id: string): string =>
  hash('sha256', JSON.stringify(['given', ...owner, id]), 'base64url').slice(0, 32)

/** An account without a name is known by its key, which is rotated; the provider of the configuration outlives that. */
export function providerRowIds(provider: Provider, id: string): string[] {
  const own = ownerRowId([accountLetters(provider)], id)
  return provider.account === undefined ? [own, ownerRowId(['provider', provider.slug], id)] : [own]
}

interface Owned {
  /** Given to the key. */
  readonly own: ReadonlySet<string>
  /** Given to another key, and not listed for this one. */
  readonly others: ReadonlySet<string>
}

/** Ids that are looked up at once. */
const AT_ONCE = 1_000

/** Looks ids up; one without a row is in neither set. */
export async function ownedIds(rows: IdRows, { key, provider }: IdHolder, texts: Iterable<string>): Promise<Owned> {
  const own = new Set<string>()
  const others = new Set<string>()
  const all = [...texts]
  for (let from = 0; from < all.length; from += AT_ONCE) {
    // Other callers have their turn: a store in this process looks them up before it returns.
    if (all.length - from >= AT_ONCE) await nextTurn()
    const names = new Map(all.slice(from, from + AT_ONCE).flatMap((text) => providerRowIds(provider, text).map((row) => [row, text])))
    for (const { id, owner } of await rows.find([...names.keys()])) {
      const text = names.get(id) ?? ''
      if (owner === key.identity) own.add(text)
      else if (!isListed(text, key)) others.add(text)
    }
  }
  return { own, others }
}

/** @returns those that were given to the key. @throws Fault 404 where one was given to another. */
export async function checkedIds(
  rows: IdRows,
  holder: IdHolder,
  texts: Iterable<string>,
  where: 'path' | 'body',
): Promise<ReadonlySet<string>> {
  const { own, others } = await ownedIds(rows, holder, texts)
  for (const text of others)
    throw new Fault('not_found', {
      message: `${where}: no such id: ${text.slice(0, 80)}; expected one that a reply to this key has shown`,
    })
  return own
}

/** A path that every server reads alike: no escape, no matrix parameter, and no segment that is left out. */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~@:+=-]+)+$/

/** @throws Fault 404 where the path names an id that was given to another key. */
export async function idsOfPath(rows: IdRows, holder: IdHolder, path: string): Promise<NamedIds> {
  const texts = new Set<string>()
  idsInPath(path, texts)
  const own = await checkedIds(rows, holder, texts, 'path')
  const [pathname = ''] = path.split('?', 1)
  const parts = pathname.split('/')
  const isOfOwn = PLAIN.test(pathname) && parts.some((part, at) => own.has(part) || own.has(`${parts[at - 1]}/${part}`))
  return { texts, isOfOwn, hasOwn: own.size > 0, keeps: false }
}
