/** From the checked file to `Config`: defaults, units, and what was left out. */

import { dirname, join } from 'node:path'
import type { JsonObject } from '../core/json.ts'
import { nanoFromUsd, rateFromUsd } from '../core/money.ts'
import { hashOf } from '../core/secret.ts'
import type { Preset, Presets } from '../dialects/canon/presets.ts'
import type { Quirks } from '../dialects/quirks.ts'
import type { Environment } from './expand.ts'
import { resolveGuardrail } from './guardrails.ts'
import { DEVELOPMENT_KEY, FALLBACK_NAME, plainKey } from './keys.ts'
import { resolvePlugins } from './plugins.ts'
import type { RawConfig, RawKey, RawModels, RawProvider, RawSignIn } from './schema/root.ts'
import type { AdminConfig, Config, FilesConfig, KeyConfig, LimitsConfig, ProviderConfig, ServerConfig, StoreConfig } from './types.ts'
import { bytes, milliseconds } from './units.ts'

export interface Checked {
  file: string
  files: string[]
  raw: RawConfig
  /** Of the file and its catalogue files. */
  models: RawModels
  skippedProviders: ReadonlySet<string>
  skippedKeys: ReadonlySet<number>
  env: Environment
  overrides: { host?: string; port?: number }
}

const DEFAULT_STORE = 'sqlite:./data/headgate.db'
const DEFAULT_JOURNAL = './data/journal.db'

export function resolve(checked: Checked): Config {
  const { raw, env } = checked
  const providers = Object.entries(raw.providers)
    .filter(([slug]) => !checked.skippedProviders.has(slug))
    .map(([slug, provider]) => resolveProvider(slug, provider, raw.passage?.enabled !== false))
  const keysNamed = raw.auth?.keys !== undefined
  const keys = (raw.auth?.keys ?? []).filter((_, index) => !checked.skippedKeys.has(index)).map(resolveKey)
  const fallbackKey = plainKey(FALLBACK_NAME, env.HEADGATE_DEV_KEY || DEVELOPMENT_KEY)
  const published = hashOf(DEVELOPMENT_KEY)
  const plugins = resolvePlugins(raw, checked.file)
  const realKey = providers.some((provider) => provider.key !== undefined)
  return {
    file: checked.file,
    files: [...checked.files, ...plugins.load.flatMap(({ path }) => path ?? [])],
    server: { ...resolveServer(raw), ...definedOf(checked.overrides) },
    admin: resolveAdmin(raw),
    brand: { word: raw.brand?.word ?? 'router' },
    store: resolveStore(raw),
    uploads: resolveFiles(raw),
    shared: { ...raw.shared },
    ...(raw.auth?.sign_in === undefined ? {} : { signIn: resolveSignIn(raw.auth.sign_in) }),
    keysNamed,
    keys,
    fallbackKey,
    developmentKey: keysNamed ? keys.some((key) => key.hash === published) : fallbackKey.hash === published && !realKey,
    providers,
    skipped: [...checked.skippedProviders],
    models: remaining(checked),
    aliases: { ...raw.aliases },
    ...(raw.default_model === undefined ? {} : { defaultModel: raw.default_model }),
    ...(raw.default_max_output === undefined ? {} : { defaultMaxOutput: raw.default_max_output }),
    ...(raw.provider === undefined ? {} : { provider: raw.provider as JsonObject }),
    limits: resolveLimits(raw.limits),
    plugins,
    presets: resolvePresets(raw.presets),
    prompts: new Map(
      Object.entries(raw.prompts ?? {}).map(([id, { messages }]) => [
        id,
        { messages: messages.map(({ role, content }) => ({ role, text: content })) },
      ]),
    ),
    guardrails: (raw.guardrails ?? []).map(resolveGuardrail),
  }
}

function definedOf<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>
}

function resolvePresets(presets: RawConfig['presets']): Presets {
  return new Map(
    Object.entries(presets ?? {}).map(([name, preset]): [string, Preset] => {
      const { description, model, models, provider, parameters, system_prompt: systemPrompt } = preset
      const said = { description, model, models, provider, systemPrompt }
      return [name, { ...(definedOf(said) as Omit<Preset, 'parameters'>), parameters: { ...parameters } as JsonObject }]
    }),
  )
}

function resolveServer({ server }: RawConfig): ServerConfig {
  return {
    host: server?.host ?? '127.0.0.1',
    port: server?.port ?? 8080,
    maxBody: bytes(server?.max_body ?? '32MB'),
    ...(server?.body_memory === undefined ? {} : { bodyMemory: bytes(server.body_memory) }),
    maxHeaders: bytes(server?.max_headers ?? '16KB'),
    jsonDepth: server?.json_depth ?? 128,
    drain: milliseconds(server?.drain ?? '30s'),
    deadline: milliseconds(server?.deadline ?? '900s'),
    keepAlive: milliseconds(server?.keep_alive ?? '75s'),
    headerTimeout: milliseconds(server?.header_timeout ?? '10s'),
    bodyTimeout: milliseconds(server?.body_timeout ?? '60s'),
    trustedProxies: [...(server?.trusted_proxies ?? [])],
    proxyProtocol: server?.proxy_protocol ?? false,
    authFailures: { burst: server?.auth_failures?.burst ?? 100, perSecond: (server?.auth_failures?.per_minute ?? 60) / 60 },
    silence: milliseconds(server?.silence ?? '10s'),
  }
}

function resolveStore({ store }: RawConfig): StoreConfig {
  return {
    url: store?.url ?? DEFAULT_STORE,
    durability: store?.durability ?? 'process',
    journal: store?.journal ?? DEFAULT_JOURNAL,
    ...(store?.retention === undefined ? {} : { retention: milliseconds(store.retention) }),
    lostGrace: milliseconds(store?.lost_grace ?? '24h'),
  }
}

/** The file that the process keeps on disk: the store, or the journal of a store elsewhere; undefined in memory. */
function fileOfProcess(raw: RawConfig): string | undefined {
  const { url, journal } = resolveStore(raw)
  if (url === 'memory:') return undefined
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : journal
}

function resolveAdmin(raw: RawConfig): AdminConfig {
  const { host = '127.0.0.1', port = 8081, token, socket, health_port: healthPort } = raw.admin ?? {}
  const neighbour = fileOfProcess(raw)
  const tokenFile = neighbour === undefined ? undefined : `${neighbour}.admin-token`
  return { host, port, ...definedOf({ token, tokenFile, socket, healthPort }) }
}

/** Beside what else the process keeps on disk. */
function resolveFiles(raw: RawConfig): FilesConfig {
  const { path, max_file: maxFile = '100MB', max_bytes: maxBytes = '1GB' } = raw.store?.files ?? {}
  const neighbour = fileOfProcess(raw)
  const directory = path ?? (neighbour === undefined ? undefined : join(dirname(neighbour), 'files'))
  return { ...(directory === undefined ? {} : { path: directory }), maxFile: bytes(maxFile), maxBytes: bytes(maxBytes) }
}

function resolveSignIn({ callbacks = [], loopback = true, pkce = 'required' }: RawSignIn): NonNullable<Config['signIn']> {
  return { callbacks: [...callbacks], loopback, pkce }
}

function resolveLimits(limits: RawConfig['limits']): LimitsConfig {
  const result: LimitsConfig = {}
  if (limits?.requests !== undefined) result.requests = limits.requests
  if (limits?.tokens !== undefined) result.tokens = limits.tokens
  if (limits?.streams !== undefined) result.streams = limits.streams
  if (limits?.bytes !== undefined) result.bytes = bytes(limits.bytes)
  return result
}

function resolveKey(key: RawKey): KeyConfig {
  return {
    ...plainKey(key.name, key.key),
    limit: key.limit === undefined ? null : (nanoFromUsd(key.limit) ?? 0),
    limitReset: key.limit_reset ?? null,
    management: key.management ?? false,
    disabled: key.disabled ?? false,
    expiresAt: key.expires_at === undefined ? null : Date.parse(key.expires_at),
    ...(key.allowed_models === undefined ? {} : { allowedModels: key.allowed_models }),
    ...(key.provider === undefined ? {} : { provider: key.provider as JsonObject }),
    limits: resolveLimits(key.limits),
    ...(key.default_max_output === undefined ? {} : { defaultMaxOutput: key.default_max_output }),
    passage: key.passage ?? false,
  }
}

const ATTO_PER_NANO = 1_000_000_000n

function resolveProvider(slug: string, provider: RawProvider, passage: boolean): ProviderConfig {
  const { faults } = provider
  const simulated = faults && { ...faults, ...(faults.delay === undefined ? {} : { delay: milliseconds(faults.delay) }) }
  const quirks: Quirks = { ...provider.quirks, ...(simulated ? { faults: simulated } : {}) }
  const price = passage && provider.passage ? rateFromUsd(provider.passage.price) : undefined
  return {
    slug,
    name: provider.name ?? slug,
    dialect: provider.dialect,
    ...(provider.base_url === undefined ? {} : { baseUrl: provider.base_url.replace(/\/+$/, '') }),
    ...(provider.key === undefined ? {} : { key: provider.key }),
    headers: { ...provider.headers },
    ...(provider.auth === undefined ? {} : { auth: { header: provider.auth.header.toLowerCase(), scheme: provider.auth.scheme ?? '' } }),
    ...(provider.path === undefined ? {} : { path: provider.path }),
    ...(provider.query === undefined ? {} : { query: new URLSearchParams(provider.query).toString() }),
    timeouts: {
      connect: milliseconds(provider.timeouts?.connect ?? '5s'),
      firstByte: milliseconds(provider.timeouts?.first_byte ?? '60s'),
      firstByteWhole: milliseconds(provider.timeouts?.first_byte ?? provider.timeouts?.total ?? '600s'),
      idle: milliseconds(provider.timeouts?.idle ?? '30s'),
      total: milliseconds(provider.timeouts?.total ?? '600s'),
    },
    onAbort: provider.on_abort ?? 'cancel',
    dataCollection: provider.data_collection ?? 'allow',
    zdr: provider.zdr ?? false,
    about: aboutOf(provider),
    user: provider.user ?? 'pass',
    quirks,
    ...discoveryOf(provider.discover),
    // Rounded up: a passage is never cheaper than declared.
    ...(price === undefined ? {} : { passagePrice: Number((price + ATTO_PER_NANO - 1n) / ATTO_PER_NANO) }),
  }
}

const DISCOVER_EVERY = '5m'

function discoveryOf(discover: RawProvider['discover']): Pick<ProviderConfig, 'discover' | 'discovery'> {
  if (discover === undefined || discover === false) return { discover: false }
  const { every = DISCOVER_EVERY, price } = discover === true ? {} : discover
  return { discover: true, discovery: { every: milliseconds(every), ...(price === undefined ? {} : { price }) } }
}

function aboutOf({ about }: RawProvider): ProviderConfig['about'] {
  return definedOf({
    privacyUrl: about?.privacy_url,
    termsUrl: about?.terms_url,
    statusUrl: about?.status_url,
    headquarters: about?.headquarters,
    datacenters: about?.datacenters,
  })
}

/** Models with an endpoint at a provider that is there. */
function remaining(checked: Checked): RawModels {
  const models: RawModels = {}
  for (const [slug, model] of Object.entries(checked.models)) {
    const endpoints = model.endpoints.filter((endpoint) => !checked.skippedProviders.has(endpoint.provider))
    if (endpoints.length > 0) models[slug] = { ...model, endpoints }
  }
  return models
}
