/** Bodies of the operations on keys of providers that teams bring, checked. What they do not name stays as it is. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { nameIn } from '../core/plain-name.ts'
import { maskSecret } from '../core/secret.ts'
import type { ByokTerms } from '../store/byok-keys.ts'
import type { KnownNames } from './guardrail-body.ts'
import { refuseOtherWorkspace } from './key-body.ts'

const MAX_NAME_LENGTH = 255
const MAX_ENTRIES = 100
const MIN_KEY_LENGTH = 8
const MAX_KEY_LENGTH = 4096

const maybe = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const key = Type.String({
  minLength: MIN_KEY_LENGTH,
  maxLength: MAX_KEY_LENGTH,
  pattern: '^[\\x21-\\x7e]+$',
  expected: `the key of the provider: ${MIN_KEY_LENGTH} to ${MAX_KEY_LENGTH} ASCII characters without spaces`,
})
const shared = {
  name: maybe(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
  is_fallback: Type.Optional(Type.Boolean()),
  disabled: Type.Optional(Type.Boolean()),
  allowed_models: maybe(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: MAX_ENTRIES })),
  allowed_user_ids: maybe(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: MAX_ENTRIES })),
  allowed_api_key_hashes: maybe(Type.Array(Type.String({ pattern: '^[a-f0-9]{64}$' }), { minItems: 1, maxItems: MAX_ENTRIES })),
}

/** A mistyped `allowed_models` must not make a key that all may use. */
const CLOSED = { additionalProperties: false } as const

export const checkMakingByok = checker(
  Type.Object(
    {
      provider: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description: 'the name of a provider' }),
      key,
      ...shared,
      workspace_id: Type.Optional(Type.String()),
    },
    CLOSED,
  ),
)
export const checkByokChanges = checker(Type.Object({ key: Type.Optional(key), ...shared }, CLOSED))

/** Facts of the gateway that bodies are checked against. */
export interface ByokTargets {
  readonly there: KnownNames
  /** True for a provider that is configured and whose calls carry a key. */
  takesKey(provider: string): boolean
  /** @returns the identity of the key of the gateway that has this hash now; undefined where none has. */
  keyIdentity(hash: string): Promise<string | undefined>
}

export interface ByokMaking {
  readonly provider: string
  readonly key: string
  readonly terms: ByokTerms
}

const OPEN: Omit<ByokTerms, 'label'> = {
  name: null,
  isFallback: false,
  disabled: false,
  allowedModels: null,
  allowedUsers: null,
  allowedKeys: null,
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export async function makingByok(body: JsonObject, targets: ByokTargets): Promise<ByokMaking> {
  checkMakingByok(body)
  refuseOtherWorkspace(body)
  const { provider, key } = body as { provider: string; key: string }
  if (!targets.there.provider(provider)) throw badField('provider', 'no such provider: expected one of the configuration')
  if (!targets.takesKey(provider))
    throw badField(
      'provider',
      `expected one whose calls carry a key: ${provider} is called with a credential that is fetched, or not at all`,
    )
  return { provider, key, terms: { ...OPEN, label: maskSecret(key), ...(await termsIn(body, targets)) } }
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export async function byokChanges(body: JsonObject, targets: ByokTargets): Promise<{ key: string | undefined; terms: Partial<ByokTerms> }> {
  checkByokChanges(body)
  const key = typeof body.key === 'string' ? body.key : undefined
  return { key, terms: { ...(key === undefined ? {} : { label: maskSecret(key) }), ...(await termsIn(body, targets)) } }
}

async function termsIn(body: JsonObject, targets: ByokTargets): Promise<Partial<ByokTerms>> {
  const { name, is_fallback: isFallback, disabled, allowed_models: models, allowed_user_ids: users, allowed_api_key_hashes: hashes } = body
  const terms: { -readonly [Name in keyof ByokTerms]?: ByokTerms[Name] } = {}
  if (name !== undefined) terms.name = typeof name === 'string' ? nameIn(name, 'name') : null
  if (typeof isFallback === 'boolean') terms.isFallback = isFallback
  if (typeof disabled === 'boolean') terms.disabled = disabled
  if (models !== undefined) terms.allowedModels = listIn(models)?.map((model, at) => knownModel(model, at, targets.there)) ?? null
  if (users !== undefined) terms.allowedUsers = listIn(users)
  if (hashes !== undefined) terms.allowedKeys = await identities(listIn(hashes), targets)
  return terms
}

const listIn = (value: Json): string[] | null => (Array.isArray(value) ? [...new Set(value.map(String))] : null)

/** A name that nothing has would let the operator's account be used in silence. */
function knownModel(named: string, at: number, there: KnownNames): string {
  const slug = named.includes('*') ? named : there.model(named)
  if (slug === undefined) throw badField(`allowed_models[${at}]`, 'no such model')
  return slug
}

/** A hash changes with each rotation of a key, its identity never does. */
async function identities(hashes: readonly string[] | null, targets: ByokTargets): Promise<readonly string[] | null> {
  if (!hashes) return null
  const found = new Set<string>()
  for (const [at, hash] of hashes.entries()) {
    const identity = await targets.keyIdentity(hash)
    if (identity === undefined) throw badField(`allowed_api_key_hashes[${at}]`, 'no such key of this gateway')
    found.add(identity)
  }
  return [...found]
}
