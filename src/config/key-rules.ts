/** Rules of keys that the schema cannot state, and of all that has the settings of a key. */
import { ENDPOINT_LISTS } from '../routing/criteria/index.ts'
import { writtenRole } from './keys.ts'
import type { Path } from './problems.ts'
import type { References } from './references.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

/** Form of the identities of keys of the store and of callers with tokens. */
const DIGEST = /^[0-9a-f]{64}$/

type RawKey = NonNullable<NonNullable<RawConfig['auth']>['keys']>[number]
type RawTerms = Pick<RawKey, 'provider' | 'allowed_models' | 'role' | 'organization' | 'workspace' | 'scopes'> &
  Partial<Pick<RawKey, 'management'>>

export function checkKeys(raw: RawConfig, main: Source): void {
  const names = new Set<string>()
  const secrets = new Set<string>()
  for (const [index, key] of (raw.auth?.keys ?? []).entries()) {
    const at = ['auth', 'keys', index]
    if (names.has(key.name)) main.report([...at, 'name'], 'a second key of this name, expected another: spend is kept by name')
    names.add(key.name)
    if (DIGEST.test(key.name)) main.report([...at, 'name'], 'digests name keys of the store and callers with tokens, expected another name')
    if (key.management === true && key.role !== undefined && key.role !== 'owner')
      main.report([...at, 'role'], 'management: true is the role owner, expected one of both fields')
    if (main.isSkipped(at)) continue
    if (secrets.has(key.key)) main.report([...at, 'key'], 'a second entry with this secret, expected another')
    secrets.add(key.key)
  }
}

export function checkKeyReferences(raw: RawConfig, main: Source, references: References): void {
  for (const [index, key] of (raw.auth?.keys ?? []).entries()) {
    const at = ['auth', 'keys', index]
    if (main.isSkipped(at)) continue
    main.check(() => checkTerms(key, at, references, main))
  }
}

/** Names of providers and models in the settings of a key, or of the callers that a rule of an issuer maps. */
export function checkTerms(terms: RawTerms, at: Path, references: References, main: Source): void {
  const { provider, allowed_models: models } = terms
  checkBounds(terms, at, main)
  checkPreferences(provider, [...at, 'provider'], references, main)
  for (const [place, slug] of (models ?? []).entries()) {
    if (!slug.includes('*') && !references.hasModel(slug))
      main.report([...at, 'allowed_models', place], `no such model${hint(slug, [...references.slugs])}`)
  }
}

/** Bounds of management keys. */
function checkBounds({ organization, workspace, scopes, ...terms }: RawTerms, at: Path, main: Source): void {
  const calls = writtenRole(terms) === 'member'
  if (organization !== undefined && calls)
    main.report([...at, 'organization'], 'only a management key has an organization in the place of a workspace, expected workspace')
  if (organization !== undefined && workspace !== undefined)
    main.report([...at, 'organization'], 'expected either an organization or a workspace')
  if (scopes !== undefined && calls)
    main.report([...at, 'scopes'], 'a key of the role member manages nothing that scopes could narrow, expected none')
}

export function checkPreferences(preferences: RawConfig['provider'], path: Path, references: References, main: Source): void {
  for (const list of ENDPOINT_LISTS) {
    for (const [index, tag] of (preferences?.[list] ?? []).entries()) {
      const provider = tag.replace(/\/.*$/s, '')
      if (!references.hasProvider(provider)) main.report([...path, list, index], `no such provider${references.nearestProvider(provider)}`)
    }
  }
}
