/** Warnings about doubtful settings. The configuration is used as it is; `headgate check` prints the warnings. */
import { randomBytes } from 'node:crypto'
import { writtenRole } from './keys.ts'
import type { ModelFile, ModelFiles } from './references.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'

export function findWarnings(raw: RawConfig, main: Source, files: ModelFiles): void {
  warnOfLeftOut(raw, main, files)
  warnOfOperations(raw, main)
  warnOfWeakKeys(raw, main)
  warnOfManagersAlone(raw, main)
  warnOfUnpriced(raw, main, files)
  warnOfOwnerless(raw, main, files)
}

/** Warns of providers that the file names without a condition, and that their presets leave out without a variable. */
function warnOfLeftOut({ providers }: RawConfig, main: Source, [own, ...catalogs]: ModelFiles): void {
  const slugs = Object.keys(providers)
  const skipped = slugs.filter((slug) => main.isSkipped(['providers', slug]))
  for (const slug of skipped) {
    const variables = main.variablesMissing(['providers', slug], 'preset')
    // A catalogue has models of many providers: those with a key are served.
    const isChoice = !isUsedBy(own, slug) && catalogs.some((file) => isUsedBy(file, slug))
    if (variables.length === 0 || isChoice) continue
    const lost = Object.entries(own.models).flatMap(([model, { endpoints }]) =>
      endpoints.some(({ provider }) => provider === slug) && endpoints.every(({ provider }) => skipped.includes(provider)) ? [model] : [],
    )
    const withIt = lost.length === 0 ? '' : `, and with it ${shownNames(lost)}`
    main.warn(['providers', slug], `left out${withIt}: its preset needs ${variables.join(' and ')} in the environment`)
  }
  if (skipped.length > 0 && skipped.length === slugs.length)
    main.warn(['providers'], 'all are left out for want of their variables: nothing is served')
}

const isUsedBy = ({ models }: ModelFile, slug: string): boolean =>
  Object.values(models).some(({ endpoints }) => endpoints.some(({ provider }) => provider === slug))

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

const MIN_KEY_LENGTH = 16
const MIN_CHARACTERS = 8

function warnOfWeakKeys({ auth }: RawConfig, main: Source): void {
  for (const [index, { key }] of (auth?.keys ?? []).entries()) {
    const at = ['auth', 'keys', index, 'key']
    if (key === undefined || main.isUnset(at) || main.isWrong(at)) continue
    if (key.length < MIN_KEY_LENGTH || new Set(key).size < MIN_CHARACTERS)
      main.warn(at, `this key can be guessed, expected one such as sk-${randomBytes(24).toString('hex')}`)
  }
}

function warnOfManagersAlone({ auth }: RawConfig, main: Source): void {
  const keys = (auth?.keys ?? []).filter((_, index) => !main.isSkipped(['auth', 'keys', index]))
  if ((auth?.keys ?? []).length === 0 || keys.some((key) => writtenRole(key) === 'member')) return
  const why = keys.length === 0 ? 'all are left out for want of their variables' : 'management keys call no models'
  main.warn(['auth', 'keys'], `${why}: expected one of the role member, unless keys are made over the API`)
}

/** Names in one warning at most. */
const MAX_NAMES = 5

export function shownNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return `${names.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
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
    `keys with a limit (${shownNames(limited)}) cannot use models without a price: ${shownNames(unpriced)}. A price on each endpoint, or price: snapshot, opens them`,
  )
}

/** Warns of keys without a known owner if there is another endpoint to move to: each is a caller of its own (docs/decisions/0028-failures-by-key.md). */
function warnOfOwnerless({ auth }: RawConfig, main: Source, files: ModelFiles): void {
  const ownerless = (auth?.keys ?? []).flatMap((key) =>
    key.creator_user_id === undefined && writtenRole(key) === 'member' && key.disabled !== true ? [key.name] : [],
  )
  const hasChoice = files.some(({ models }) => Object.values(models).some(({ endpoints }) => endpoints.length > 1))
  if (ownerless.length < 2 || !hasChoice) return
  main.warn(
    ['auth', 'keys'],
    `${shownNames(ownerless)} have no creator_user_id, so each is a caller of its own, and two that fail move all keys to other endpoints. Where one user has several, name the user`,
  )
}
