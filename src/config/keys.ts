/** API keys of the file, and the development key where it names none. */

import { randomTag } from '../core/ids.ts'
import type { KeyPlace } from '../core/levels.ts'
import { OPERATOR_NAME } from '../core/operator-name.ts'
import { plainName } from '../core/plain-name.ts'
import type { Role } from '../core/roles.ts'
import { maskSecret, secretHash } from '../core/secret.ts'
import { type Budgets, budgetNamed } from '../core/shared-budget.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { ApiKey, RateLimits } from '../plugin-api/key.ts'
import { type Resolved, resolved } from './resolved.ts'
import { key as keySchema } from './schema/keys.ts'

/** Published in the documentation, so worth nothing outside this machine. */
export const DEVELOPMENT_KEY = 'sk-router-v1-dev'
/** Identity of the key that is used where the file names none: one spend, whatever the secret. */
export const FALLBACK_NAME = 'dev'

/** Only the hash of a key leaves the loader. */
export type KeyConfig = Omit<Resolved<typeof keySchema>, 'key' | 'management' | 'role'> & {
  role: Role
  /** SHA-256 of the secret, hex. */
  hash: string
  /** Masked secret. */
  label: string
}

export function keyConfig({ key: secret, management, role, ...settings }: Resolved<typeof keySchema>): KeyConfig {
  return { ...settings, role: writtenRole({ management, role }), hash: secretHash(secret), label: maskSecret(secret) }
}

/** Role of an entry of `auth.keys`. */
export function writtenRole({ management, role }: { management?: boolean | undefined; role?: Role | undefined }): Role {
  return role ?? (management ? 'owner' : 'member')
}

/** A key that may do everything but manage. */
export function plainKey(name: string, secret: string): KeyConfig {
  return keyConfig(resolved(keySchema, { name, key: secret }))
}

/** A management key of one run, for what the operator does in the control room. */
export function operatorKey(secret: string): KeyConfig {
  return { ...plainKey(OPERATOR_NAME, secret), role: 'owner' }
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

/** Keys of the configuration. */
interface KeySettings {
  /** True where the file says who the callers are: it has `auth.keys`, even if empty, `auth.issuers` or `auth.certificates`. */
  keysNamed: boolean
  keys: KeyConfig[]
  /** Used where the file names no keys: `HEADGATE_DEV_KEY`, else the development key. */
  fallbackKey: KeyConfig
  /** True while the published development key is honoured. */
  developmentKey: boolean
  /** For every key that sets none of its own. */
  limits: RateLimits
  budgets: Budgets
  server: { host: string }
  /** Honoured beside the others, and listed nowhere. */
  operatorKey?: KeyConfig | undefined
}

export interface ResolvedKeys {
  keys: ApiKey[]
  /** A random secret made because the file names no keys and a real provider has one: to be printed once. */
  generated?: string
}

/**
 * The keys that the gateway honours. Where the file names none: `HEADGATE_DEV_KEY` if set, else the development key
 * as long as no real provider key is configured, else a random one.
 * @param random a part of the random secret, at least 72 bits.
 * @throws Error if the development key would be honoured outside loopback.
 */
export function resolveKeys(config: KeySettings, random: () => string = randomTag): ResolvedKeys {
  const refusal = developmentKeyRefusal(config)
  if (refusal !== undefined) throw new Error(refusal)
  if (config.keysNamed) return { keys: config.keys.map((key) => apiKey(key, config)) }
  const replaced = config.fallbackKey.hash === secretHash(DEVELOPMENT_KEY) && !config.developmentKey
  if (!replaced) return { keys: [openKey(config.fallbackKey, config)] }
  const generated = `sk-router-v1-${random()}${random()}`
  return { keys: [openKey(plainKey(FALLBACK_NAME, generated), config)], generated }
}

/** Why the configuration must not be served: the development key reaches beyond loopback. */
export function developmentKeyRefusal(config: Pick<KeySettings, 'developmentKey' | 'server'>): string | undefined {
  if (!config.developmentKey || isLoopback(config.server.host)) return undefined
  return `the development key ${DEVELOPMENT_KEY} is honoured only while listening on loopback, expected server.host 127.0.0.1 or a key of your own in auth.keys`
}

/** The key of the control room, where this configuration has one. */
export function operatorKeys(config: KeySettings): ApiKey[] {
  return config.operatorKey ? [apiKey(config.operatorKey, config)] : []
}

/** The only key of its operator: all that the operator keeps at providers is its own. */
function openKey(key: KeyConfig, config: SharedSettings): ApiKey {
  return apiKey({ ...key, providerIds: ['*'] }, config)
}

function apiKey(key: KeyConfig, shared: SharedSettings): ApiKey {
  return {
    identity: key.name,
    hash: key.hash,
    label: key.label,
    name: key.name,
    ...(key.creatorUserId === undefined ? {} : { creator: plainName(key.creatorUserId) }),
    expiresAt: key.expiresAt ?? null,
    ...apiKeyTerms(key, shared),
  }
}

/** Settings for all keys. */
type SharedSettings = Pick<KeySettings, 'limits' | 'budgets'>

/** Fields of a key beside those that name it: what its callers may do. */
export type KeyTerms = Omit<ApiKey, 'identity' | 'hash' | 'label' | 'name' | 'expiresAt'>

type WrittenTerms = Omit<KeyConfig, 'name' | 'hash' | 'label' | 'role' | 'creatorUserId' | 'expiresAt' | 'member'> & {
  role?: Role | undefined
  member?: string | undefined
}

/** Terms of a key of the file, and of each caller that a rule of an issuer maps. */
export function apiKeyTerms(key: WrittenTerms, { limits, budgets }: SharedSettings): KeyTerms {
  return {
    role: key.role ?? 'member',
    disabled: key.disabled,
    limit: key.limit ?? null,
    limitReset: key.limitReset ?? null,
    allowedModels: key.allowedModels,
    // The schema of the file admits no preference that the wire's object does not have.
    provider: key.provider as ProviderPreferences | undefined,
    limits: { ...limits, ...key.limits },
    ...(key.defaultMaxOutput === undefined ? {} : { defaultMaxOutput: key.defaultMaxOutput }),
    passThrough: key.passThrough,
    ...(key.providerIds === undefined ? {} : { providerIds: key.providerIds }),
    ...(key.errorCode === undefined ? {} : { errorCode: key.errorCode }),
    ...(key.captureContent ? { captureContent: true } : {}),
    ...(key.workspace === undefined && key.member === undefined ? {} : { place: writtenPlace(key) }),
    ...(key.tags === undefined ? {} : { tags: key.tags }),
    ...(key.parent === undefined ? {} : { parent: key.parent, budget: budgetNamed(key.parent, budgets) }),
  }
}

function writtenPlace({ workspace, member }: Pick<WrittenTerms, 'workspace' | 'member'>): KeyPlace {
  return { ...(workspace === undefined ? {} : { workspace }), ...(member === undefined ? {} : { member }) }
}
