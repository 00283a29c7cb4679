/** API keys of the file, and the development key where it names none. */

import { randomTag } from '../core/ids.ts'
import { hashOf, maskOf } from '../core/secret.ts'
import type { ProviderPreferences } from '../dialects/canon/gateway-fields.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Config, KeyConfig } from './types.ts'

/** Published in the documentation, so worth nothing outside this machine. */
export const DEVELOPMENT_KEY = 'sk-router-v1-dev'
/** Identity of the key that is used where the file names none: one spend, whatever the secret. */
export const FALLBACK_NAME = 'dev'

/** A key that may do everything but manage. */
export function plainKey(name: string, secret: string): KeyConfig {
  return {
    name,
    hash: hashOf(secret),
    label: maskOf(secret),
    limit: null,
    limitReset: null,
    management: false,
    disabled: false,
    expiresAt: null,
    limits: {},
    passage: false,
  }
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
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
export function resolveKeys(config: Config, random: () => string = randomTag): ResolvedKeys {
  const refusal = developmentKeyRefusal(config)
  if (refusal !== undefined) throw new Error(refusal)
  if (config.keysNamed) return { keys: config.keys.map((key) => apiKey(key, config)) }
  const replaced = config.fallbackKey.hash === hashOf(DEVELOPMENT_KEY) && !config.developmentKey
  if (!replaced) return { keys: [apiKey(config.fallbackKey, config)] }
  const generated = `sk-router-v1-${random()}${random()}`
  return { keys: [apiKey(plainKey(FALLBACK_NAME, generated), config)], generated }
}

/** Why the configuration must not be served: the development key reaches beyond loopback. */
export function developmentKeyRefusal(config: Pick<Config, 'developmentKey' | 'server'>): string | undefined {
  if (!config.developmentKey || isLoopback(config.server.host)) return undefined
  return `the development key ${DEVELOPMENT_KEY} is honoured only while listening on loopback, expected server.host 127.0.0.1 or a key of your own in auth.keys`
}

function apiKey(key: KeyConfig, config: Config): ApiKey {
  return {
    identity: key.name,
    hash: key.hash,
    label: key.label,
    name: key.name,
    management: key.management,
    disabled: key.disabled,
    limit: key.limit,
    limitReset: key.limitReset,
    expiresAt: key.expiresAt,
    allowedModels: key.allowedModels,
    // The schema of the file admits no preference that the wire's object does not have.
    provider: key.provider as ProviderPreferences | undefined,
    limits: { ...config.limits, ...key.limits },
    ...(key.defaultMaxOutput === undefined ? {} : { defaultMaxOutput: key.defaultMaxOutput }),
    passage: key.passage,
  }
}
