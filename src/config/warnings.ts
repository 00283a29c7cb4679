/** What a configuration says and can hardly mean. It is served as it is; `headgate check` shows these. */
import { randomBytes } from 'node:crypto'
import type { ModelFiles } from './references.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'

export function findWarnings(raw: RawConfig, main: Source, files: ModelFiles): void {
  warnOfOperations(raw, main)
  warnOfWeakKeys(raw, main)
  warnOfManagersAlone(raw, main)
  warnOfUnpriced(raw, main, files)
  warnOfOwnerless(raw, main, files)
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

function warnOfManagersAlone({ auth }: RawConfig, main: Source): void {
  const keys = auth?.keys ?? []
  if (keys.length > 0 && keys.every(({ management }) => management === true))
    main.warn(['auth', 'keys'], 'management keys call no models: expected one without management: true, unless keys are made over the API')
}

/** Names in one warning at most. */
const MOST_NAMES = 5

function namesOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return `${names.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function warnOfUnpriced({ auth }: RawConfig, main: Source, files: ModelFiles): void {
  const limited = (auth?.keys ?? []).flatMap(({ name, limit }) => (limit === undefined ? [] : [name]))
  if (limited.length === 0) return
  const unpriced = files.flatMap(({ models }) =>
    Object.entries(models).flatMap(([slug, { endpoints }]) => (endpoints.every(({ price }) => price === undefined) ? [slug] : [])),
  )
  if (unpriced.length === 0) return
  main.warn(
    ['auth', 'keys'],
    `keys with a limit (${namesOf(limited)}) cannot use models without a price: ${namesOf(unpriced)}. A price on each endpoint, or price: snapshot, opens them`,
  )
}

/** Where there is another endpoint to move to, keys without a known owner are a caller each (docs/decisions/0028-failures-by-key.md). */
function warnOfOwnerless({ auth }: RawConfig, main: Source, files: ModelFiles): void {
  const ownerless = (auth?.keys ?? []).flatMap(({ name, management, disabled, creator_user_id: user }) =>
    user === undefined && management !== true && disabled !== true ? [name] : [],
  )
  const hasChoice = files.some(({ models }) => Object.values(models).some(({ endpoints }) => endpoints.length > 1))
  if (ownerless.length < 2 || !hasChoice) return
  main.warn(
    ['auth', 'keys'],
    `${namesOf(ownerless)} have no creator_user_id, so each is a caller of its own, and two that fail move all keys to other endpoints. Where one user has several, name the user`,
  )
}
