/** The settings of a credential, of a provider and of an endpoint on top, and what finds the credential of them. */
import { isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import type { ConnectionSettings } from '../connections/connection-settings.ts'
import type { KeySettings } from './key-pool.ts'
import type { Credential } from './types.ts'

/** `providers.NAME.credential`, as the configuration resolves it. */
export interface CredentialSettings {
  /** Name of the source. */
  readonly source: string
  readonly settings: Json
  /** Of a pool of keys, which needs no source. */
  readonly keys?: readonly KeySettings[] | undefined
  /** Milliseconds after which it is fetched again at the latest. */
  readonly refresh?: number | undefined
  /** Base URL that signatures are made for, where calls go through a forwarder to it. */
  readonly signedFor?: string | undefined
  /** Connection settings of its provider: its services are called in the same way. */
  readonly connection?: ConnectionSettings | undefined
}

/** Owner of a credential: a provider, or one endpoint there with settings of its own. */
export interface CredentialOwner {
  readonly provider: string
  /** Id of the endpoint. */
  readonly endpoint?: string | undefined
}

export interface CredentialLookup {
  /** The credential of these settings: the same one as long as they do not change. */
  of(owner: CredentialOwner, settings: CredentialSettings): Credential
}

/** @param written the section: one source by its name, and `refresh` in milliseconds. */
export function credentialSettings({ refresh, ...sources }: JsonObject): CredentialSettings | undefined {
  const [source, settings] = Object.entries(sources)[0] ?? []
  if (source === undefined || settings === undefined) return undefined
  return { source, settings, ...present({ refresh: typeof refresh === 'number' ? refresh : undefined }) }
}

/** Several keys of one account. */
export const keyPool = (keys: readonly KeySettings[]): CredentialSettings => ({ source: 'keys', settings: null, keys })

/** The settings of an endpoint on top of its provider's: of the same source field by field. @param own by name of the source. */
export function credentialOnTop(own: JsonObject, base: CredentialSettings | undefined): CredentialSettings | undefined {
  const [source, settings] = Object.entries(own)[0] ?? []
  if (source === undefined || settings === undefined) return base
  const below: Json = base?.source === source ? base.settings : null
  return { ...base, source, settings: isObject(below) && isObject(settings) ? { ...below, ...settings } : settings }
}
