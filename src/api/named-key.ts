/** A key as people name it in a command. */
import { badField, Fault } from '../core/faults.ts'
import { plainName } from '../core/plain-name.ts'
import { allKeys, type KeySource } from './key-entry.ts'

/** Fewer digits of a hash could be a name that was mistyped. */
const MIN_HASH_LENGTH = 6

/** The hash of a key. @param named its name, its hash, or the beginning of the hash. @throws Fault 400, 404. */
export async function hashNamed(named: string | undefined, source: Pick<KeySource, 'configured' | 'store' | 'clock'>): Promise<string> {
  if (named === undefined) throw badField('key', 'is required: a name, a hash or the beginning of a hash')
  const keys = await allKeys(source)
  const now = source.clock.now()
  const exact = keys.filter(({ hash, previous }) => hash === named || (previous?.hash === named && previous.until > now))
  const byName = keys.filter((key) => key.name === named || key.name === plainName(named))
  const begun = named.length >= MIN_HASH_LENGTH ? keys.filter((key) => key.hash.startsWith(named)) : []
  // A whole hash names its key, whatever others are called; a name that is the beginning of another key's hash names neither.
  const [found, ...others] = exact.length > 0 ? exact : new Set([...byName, ...begun])
  if (!found) throw new Fault('not_found', { message: `No key ${named.slice(0, 100)}` })
  if (others.length === 0) return found.hash
  const shown = byName.length > 0 && begun.length > 0 ? found.hash.length : 12
  const hashes = [found, ...others].map(({ hash, label }) => `${hash.slice(0, shown)} (${label})`).join(', ')
  throw badField('key', `several keys are called so; name one by its hash: ${hashes}`)
}
