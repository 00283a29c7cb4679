/** The configuration as plain data: every default filled in, durations in milliseconds, sizes in bytes. */

import type { JsonObject } from '../core/json.ts'
import type { Presets } from '../dialects/canon/presets.ts'
import type { StoredPrompt } from '../dialects/canon/prompts.ts'
import type { Quirks } from '../dialects/quirks.ts'
import type { EngineSettings, TextFilters } from '../guardrails/index.ts'
import type { ProviderFacts } from '../routing/catalog/types.ts'
import type { RawModels } from './schema/root.ts'

export interface ServerConfig {
  host: string
  port: number
  maxBody: number
  /** Bytes of memory for the request bodies of this machine; absent: a share of what the process may use. */
  bodyMemory?: number
  maxHeaders: number
  jsonDepth: number
  drain: number
  deadline: number
  keepAlive: number
  headerTimeout: number
  bodyTimeout: number
  /** Addresses and networks in CIDR form. */
  trustedProxies: string[]
  /** True: connections of trusted proxies begin with a PROXY header. */
  proxyProtocol: boolean
  /** Failed authentications of one address: at once, and per second later on. */
  authFailures: { burst: number; perSecond: number }
  /** Silence before headers go out early, and between keep-alive comments. */
  silence: number
}

export interface AdminConfig {
  host: string
  port: number
  /** Bearer token of the operator's routes. */
  token?: string
  /** Where a start writes a token of its own; absent where the store is in memory. */
  tokenFile?: string
  /** Path of a unix socket. */
  socket?: string
  /** Port of a listener for health alone, on `server.host`. */
  healthPort?: number
}

export interface LimitsConfig {
  /** Per minute. */
  requests?: number
  tokens?: number
  streams?: number
  bytes?: number
}

export interface StoreConfig {
  url: string
  durability: 'process' | 'power'
  /** Path of the journal beside a store of record that is elsewhere. */
  journal: string
  /** Milliseconds; absent: generations are kept. */
  retention?: number
  /** Milliseconds for which the lease of a lost process counts as spent. */
  lostGrace: number
}

export interface FilesConfig {
  /** Directory; absent: a temporary one, beside a store in memory. */
  path?: string
  /** Bytes of one file, and of all files of a key. */
  maxFile: number
  maxBytes: number
}

/** Only the hash of a key leaves the loader. */
export interface KeyConfig {
  name: string
  /** SHA-256 of the secret, hex. */
  hash: string
  /** Masked secret. */
  label: string
  /** Nano-dollars. */
  limit: number | null
  /** The window whose spend the limit counts; null for all that was ever spent. */
  limitReset: 'daily' | 'weekly' | 'monthly' | null
  management: boolean
  disabled: boolean
  /** Milliseconds since the epoch. */
  expiresAt: number | null
  allowedModels?: string[]
  provider?: JsonObject
  limits: LimitsConfig
  /** Output cap in tokens where the request sets none and a limit applies. */
  defaultMaxOutput?: number
  passage: boolean
}

export interface ProviderConfig {
  slug: string
  name: string
  dialect: string
  baseUrl?: string
  key?: string
  headers: Record<string, string>
  auth?: { header: string; scheme: string }
  path?: string
  query?: string
  /** `firstByteWhole` is for answers that are not streamed: `first_byte` if the file sets it, else `total`. */
  timeouts: { connect: number; firstByte: number; firstByteWhole: number; idle: number; total: number }
  onAbort: 'cancel' | 'drain'
  dataCollection: 'allow' | 'deny'
  zdr: boolean
  about: ProviderFacts
  user: 'pass' | 'hash' | 'drop'
  /** With `faults` of a simulated provider, durations in milliseconds. */
  quirks: Quirks
  discover: boolean
  /** Set where `discover` is; `every` in milliseconds. */
  discovery?: { every: number; price?: 'free' }
  /** Nano-dollars per request; absent where the passage is closed. */
  passagePrice?: number
}

/** A model as declared; endpoints at providers that were left out are gone. Prices are decimal strings still. */
export type ModelConfig = RawModels[string]
export type EndpointConfig = ModelConfig['endpoints'][number]

export interface GuardrailConfig {
  name: string
  /** As they were written, without name, scope, and the address and key of an engine. */
  fields: JsonObject
  /** Names of keys; absent: every request. */
  keys?: string[]
  direction: 'input' | 'output' | 'both'
  /** What was redacted of a request is put back into its answer. */
  restore: boolean
  filters: TextFilters
  engine?: EngineSettings
  terms: {
    allowedModels?: string[]
    ignoredModels: string[]
    allowedProviders?: string[]
    ignoredProviders: string[]
    /** Groups of authors whose models need zero retention. */
    zdr: string[]
    freeTraining: boolean
    paidTraining: boolean
    /** Of the form of `max_price` in `ProviderPreferences`. */
    maxPrice?: JsonObject
    requireParameters: boolean
  }
  /** What the audit trail keeps of what matched. */
  audit: 'hashes' | 'full'
  /** Nano-dollars for each key, and the window in which they count. */
  budget?: { limit: number; limitReset: 'daily' | 'weekly' | 'monthly' | null }
}

/** A file or a package with plugins of the operator's own. */
export interface PluginSource {
  /** As the file has it. */
  name: string
  /** Absolute, where it is a file. */
  path?: string
}

export interface PluginsConfig {
  order: string[]
  /** Settings of the plugins' own, and `enabled`. */
  defaults: Record<string, JsonObject>
  /** What the operator decides beside them; `timeout` in milliseconds. */
  rules: Record<string, { locked: boolean; onError?: 'fail' | 'skip'; timeout?: number }>
  load: PluginSource[]
}

export interface Config {
  /** As given. */
  file: string
  /** The file, its catalogue files and its plugins: what a watcher watches. */
  files: string[]
  server: ServerConfig
  admin: AdminConfig
  brand: { word: string }
  store: StoreConfig
  uploads: FilesConfig
  shared: { url?: string }
  /** Absent: applications cannot sign in. */
  signIn?: { callbacks: string[]; loopback: boolean; pkce: 'required' | 'optional' }
  /** True where the file has `auth.keys`, even if empty. */
  keysNamed: boolean
  keys: KeyConfig[]
  /** Secret used where the file names no keys: `HEADGATE_DEV_KEY`, else the development key. */
  fallbackKey: KeyConfig
  /** True while the published development key is honoured. */
  developmentKey: boolean
  providers: ProviderConfig[]
  /** Names of providers left out because of an unset `${NAME?}`. */
  skipped: string[]
  models: Record<string, ModelConfig>
  aliases: Record<string, string>
  defaultModel?: string
  /** Output cap in tokens where the request sets none and a limit applies. */
  defaultMaxOutput?: number
  /** Account-wide preferences, of the form of `ProviderPreferences`. */
  provider?: JsonObject
  /** For every key that sets none of its own. */
  limits: LimitsConfig
  plugins: PluginsConfig
  guardrails: GuardrailConfig[]
  /** Presets by name. */
  presets: Presets
  /** Stored prompts by name. */
  prompts: ReadonlyMap<string, StoredPrompt>
}
