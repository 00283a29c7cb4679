/** What a configuration says and can hardly mean. It is served as it is; `headgate check` shows these. */
import { randomBytes } from 'node:crypto'
import type { ModelFiles } from './references.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'

export function findWarnings(raw: RawConfig, main: Source, files: ModelFiles): void {
  warnOfOperations(raw, main)
  warnOfWeakKeys(raw, main)
  warnOfUnpriced(raw, main, files)
}

/** Paths of operations, which the gateway adds to the base address itself. */
const OPERATION =
  /(?:\/(?:chat\/completions|completions|responses|messages|embeddings|rerank|converse|invoke)|:(?:stream)?[gG]enerateContent)\/?$/

function warnOfOperations({ providers }: RawConfig, main: Source): void {
  for (const [slug, { base_url: url }] of Object.entries(providers)) {
    const at = ['providers', slug, 'base_url']
    if (url !== undefined && !main.isUnset(at) && OPERATION.test(url))
      main.warn(
        at,
        'ends in an operation, which the gateway adds itself: expected the address before it, such as https://api.example.com/v1',
      )
  }
}

const SHORTEST_KEY = 16
const LEAST_CHARACTERS = 8

function warnOfWeakKeys({ auth }: RawConfig, main: Source): void {
  for (const [index, { key }] of (auth?.keys ?? []).entries()) {
    const at = ['auth', 'keys', index, 'key']
    if (key === undefined || main.isUnset(at) || main.isWrong(at)) continue
    if (key.length < SHORTEST_KEY || new Set(key).size < LEAST_CHARACTERS)
      main.warn(at, `this key can be guessed, expected one such as sk-${randomBytes(24).toString('hex')}`)
  }
}

/** Models listed by name at most. */
const MOST_NAMES = 5

function warnOfUnpriced({ auth }: RawConfig, main: Source, files: ModelFiles): void {
  const limited = (auth?.keys ?? []).flatMap(({ name, limit }) => (limit === undefined ? [] : [name]))
  if (limited.length === 0) return
  const unpriced = files.flatMap(({ models }) =>
    Object.entries(models).flatMap(([slug, { endpoints }]) => (endpoints.every(({ price }) => price === undefined) ? [slug] : [])),
  )
  if (unpriced.length === 0) return
  const more = unpriced.length - MOST_NAMES
  const names = `${unpriced.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  main.warn(
    ['auth', 'keys'],
    `keys with a limit (${limited.slice(0, MOST_NAMES).join(', ')}) cannot use models without a price: ${names}. A price on each endpoint, or price: snapshot, opens them`,
  )
}
