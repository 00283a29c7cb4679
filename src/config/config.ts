/** The configuration as the program reads it: what the schema resolves to, and what no schema can say. */
import { dirname, join } from 'node:path'
import { type JsonObject, present } from '../core/json.ts'
import { secretHash } from '../core/secret.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import { credentialSettings, keyPool } from '../services/credentials/settings.ts'
import { brandHeaders } from './brand-headers.ts'
import type { Environment } from './expand.ts'
import { guardrailConfig } from './guardrails.ts'
import { DEVELOPMENT_KEY, FALLBACK_NAME, type KeyConfig, keyConfig, plainKey } from './keys.ts'
import { tlsSettings } from './listener-tls.ts'
import { pluginsConfig } from './plugins.ts'
import { type Resolved, resolved } from './resolved.ts'
import { discovery, type provider } from './schema/providers.ts'
import { configSchema, type RawConfig, type RawModels } from './schema/root.ts'
import { scimConfig } from './scim.ts'
import { telemetryConfig } from './telemetry.ts'

export interface WrittenText {
  readonly file: string
  readonly text: string
}

/** A file that has passed the checks. */
export interface Checked {
  file: string
  /** The file and its catalogue files. */
  files: string[]
  /** Texts of the files; the file itself comes first. */
  texts: readonly WrittenText[]
  raw: RawConfig
  /** Of the file and its catalogue files. */
  models: RawModels
  skippedProviders: ReadonlySet<string>
  skippedKeys: ReadonlySet<number>
  env: Environment
  /** Doubtful settings of the file: `file:line:column: what`. */
  warnings: readonly string[]
  /** Entries that are left out, each with the variables that are not set: `openai (OPENAI_API_KEY)`. */
  leftOut: readonly string[]
  overrides: { host?: string | undefined; port?: number | undefined; adminPort?: number | undefined }
}

export type Config = ReturnType<typeof buildConfig>
export type StoreConfig = Config['store']
export type ProviderConfig = ReturnType<typeof providerConfig>
/** A model as declared; endpoints at providers that were left out are gone. */
export type ModelConfig = RawModels[string]
export type EndpointConfig = ModelConfig['endpoints'][number]

/** Every setting of the schema under its name in camelCase, but for the sections that are named here. */
export function buildConfig(checked: Checked) {
  const { file, env, overrides } = checked
  const written = withoutSkipped(checked)
  const { auth, catalog: _, passThrough, providers, ...settings } = resolved(configSchema, written)
  const { server, admin, store, prompts } = settings
  const neighbour = fileOfProcess(store)
  const plugins = pluginsConfig(settings.plugins, file)
  const list = Object.entries(providers).map(([slug, settings]) =>
    providerConfig(slug, settings, {
      isPassThroughOpen: passThrough.enabled,
      hasFirstByte: written.providers[slug]?.timeouts?.first_byte !== undefined,
    }),
  )
  const keys = (auth.keys ?? []).map(keyConfig)
  const fallbackKey = plainKey(FALLBACK_NAME, env.HEADGATE_DEV_KEY || DEVELOPMENT_KEY)
  const isPublished = ({ hash }: { hash: string }): boolean => hash === secretHash(DEVELOPMENT_KEY)
  return {
    ...settings,
    /** As given. */
    file,
    /** The file and its catalogue files as they were read: they may hold secrets. */
    texts: checked.texts,
    /** The file, its catalogue files and its plugins: what a watcher watches. */
    files: [...checked.files, ...plugins.load.flatMap(({ path }) => path ?? [])],
    brand: { ...settings.brand, headers: brandHeaders(settings.brand.word) },
    server: {
      ...server,
      /** Path of the socket on which the control room reaches the API; set by the root of the program, where the port speaks TLS. */
      roomSocket: undefined as string | undefined,
      // The command line wins; paths are put behind the address with a slash of their own.
      ...present({
        host: overrides.host,
        port: overrides.port,
        publicUrl: server.publicUrl?.replace(/\/+$/, ''),
        tls: tlsSettings(server.tls, file),
      }),
    },
    scim: scimConfig(settings.scim),
    provider: settings.provider as ProviderPreferences | undefined,
    // Where a start writes a token of its own; absent where the store is in memory.
    admin: {
      ...admin,
      ...present({ port: overrides.adminPort, tls: tlsSettings(admin.tls, file) }),
      ...(neighbour === undefined ? {} : { tokenFile: `${neighbour}.admin-token` }),
    },
    store: {
      ...store,
      // Files lie beside what else the process keeps on disk; without a path in a temporary directory, beside a store in memory.
      files: { ...store.files, ...(neighbour === undefined ? {} : { path: store.files.path ?? join(dirname(neighbour), 'files') }) },
    },
    // `auth` itself is not handed on, since it holds secrets. Absent: applications cannot sign in.
    ...(auth.signIn === undefined ? {} : { signIn: auth.signIn }),
    /** True where the file says who the callers are: it has `auth.keys`, even if empty, `auth.issuers` or `auth.certificates`. */
    keysNamed: auth.keys !== undefined || auth.issuers !== undefined || auth.certificates !== undefined,
    keys,
    issuers: auth.issuers ?? [],
    /** Absent: no certificate stands in the place of a key. */
    certificates: auth.certificates,
    fallbackKey,
    /** Of this run; set by the root of the program that serves the control room. */
    operatorKey: undefined as KeyConfig | undefined,
    /** True while the published development key is honoured: never beside a provider's real key, unless the file names it. */
    developmentKey:
      auth.keys || auth.issuers || auth.certificates
        ? keys.some(isPublished)
        : isPublished(fallbackKey) && list.every(({ key, credential }) => key === undefined && credential === undefined),
    providers: list,
    telemetry: telemetryConfig(settings.telemetry, env),
    /** Names of providers left out because of an unset `${NAME?}`. */
    skipped: [...checked.skippedProviders],
    /** References of secrets that could not be read, and have the text of an earlier reading. */
    staleSecrets: [] as readonly string[],
    warnings: checked.warnings,
    leftOut: checked.leftOut,
    plugins,
    guardrails: (written.guardrails ?? []).map(guardrailConfig),
    // Maps, since callers choose the names that are looked up.
    presets: new Map(Object.entries(settings.presets)),
    prompts: new Map(
      Object.entries(prompts).map(([id, { messages }]) => [
        id,
        { messages: messages.map(({ role, content }) => ({ role, text: content })) },
      ]),
    ),
  }
}

/** Without the entries whose `${NAME?}` is not set, models that are only served there, and with the models of the catalogue files. */
function withoutSkipped({ raw, models, skippedProviders, skippedKeys }: Checked): RawConfig {
  const remaining: RawModels = {}
  for (const [slug, model] of Object.entries(models)) {
    const endpoints = model.endpoints.filter((endpoint) => !skippedProviders.has(endpoint.provider))
    if (endpoints.length > 0) remaining[slug] = { ...model, endpoints }
  }
  const keys = raw.auth?.keys?.filter((_, index) => !skippedKeys.has(index))
  return {
    ...raw,
    ...(keys && { auth: { ...raw.auth, keys } }),
    providers: Object.fromEntries(Object.entries(raw.providers).filter(([slug]) => !skippedProviders.has(slug))),
    models: remaining,
  }
}

/** The file that the process keeps on disk: the store, or the journal of a store elsewhere; undefined in memory. */
function fileOfProcess({ url, journal }: { url: string; journal: string }): string | undefined {
  if (url === 'memory:') return undefined
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : journal
}

interface ProviderTerms {
  isPassThroughOpen: boolean
  /** True where the file sets `timeouts.first_byte`. */
  hasFirstByte: boolean
}

function providerConfig(slug: string, settings: Resolved<typeof provider>, { isPassThroughOpen, hasFirstByte }: ProviderTerms) {
  const { name = slug, baseUrl, auth, credential, keys, query, timeouts, discover, quirks, faults, passThrough, ...others } = settings
  const list = discover === true ? resolved(discovery, {}) : discover
  return {
    ...others,
    slug,
    name,
    timeouts: {
      ...timeouts,
      // An answer that is not streamed begins when it is complete: only what the file sets bounds its first byte.
      firstByteWhole: hasFirstByte ? timeouts.firstByte : timeouts.total,
    },
    // The simulator reads its faults where other dialects read their quirks.
    quirks: (faults ? { ...quirks, faults } : quirks) as JsonObject,
    discover: list !== false,
    ...present({
      // Paths of operations begin with a slash.
      baseUrl: baseUrl?.replace(/\/+$/, '').replace(/([^:/])\/{2,}/g, '$1/'),
      credential: keys ? keyPool(keys) : credential && credentialSettings(credential as JsonObject),
      auth: auth && { header: auth.header.toLowerCase(), scheme: auth.scheme ?? '' },
      query: query && new URLSearchParams(query).toString(),
      discovery: list === false ? undefined : list,
      /** Nano-dollars per request; absent where the pass-through is closed. */
      passThroughPrice: isPassThroughOpen ? passThrough?.price : undefined,
      passThroughUnreadPrice: isPassThroughOpen ? passThrough?.unreadPrice : undefined,
    }),
  }
}
