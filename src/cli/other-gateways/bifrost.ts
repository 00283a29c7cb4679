/**
 * The configuration of Bifrost (`config.json`): `transports/config.schema.json` of github.com/maximhq/bifrost at commit 003ecc6a, its pages
 * on config.json (docs.getbifrost.ai/deployment-guides/config-json), and the files of `examples/configs`.
 * Callers name a model as `provider/model` there, which is its slug here.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ConfigDraft, ProviderSettings } from './config-draft.ts'
import type { OtherGateway } from './other-gateway.ts'
import { baseUrl } from './provider-names.ts'
import { LIMITS, plainDecimal, resetFor, seconds } from './quantities.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

const IN_STORE = 'one store holds keys, spending and records here: store.url'

export const bifrost: OtherGateway = {
  name: 'bifrost',
  title: GATEWAY_TITLES.bifrost,
  compared: {
    release: 'github.com/maximhq/bifrost at commit 003ecc6a',
    documents: 'https://docs.getbifrost.ai/deployment-guides/config-json',
    read: '2026-10',
  },
  recognises: (value) =>
    isObject(value.providers) &&
    Object.values(value.providers).some(
      (each) => isObject(each) && (Array.isArray(each.keys) || isObject(each.network_config) || isObject(each.custom_provider_config)),
    ),
  read: ({ root }, draft) => {
    // Up to version 1 an empty list allows everything, from 2 on nothing.
    const whole = root.number('version') === 1
    for (const [name, part] of root.entries('providers')) readProvider(name, part, { whole, draft })
    const governance = root.part('governance')
    if (governance) readGovernance(governance, { whole, draft })
    const client = root.part('client')
    const megabytes = client?.number('max_request_body_size_mb')
    if (megabytes !== undefined) draft.set('server.max_body', `${megabytes}MB`)
    const origins = client?.texts('allowed_origins') ?? []
    if (origins.length > 0) draft.set('server.cors', { origins })
    client?.members({
      enable_logging: ['replaced', 'a log line for each request, without prompts'],
      disable_content_logging: ['replaced', 'prompts are never logged'],
      enforce_governance_header: ['replaced', 'each request needs a key'],
      enforce_auth_on_inference: ['replaced', 'each request needs a key'],
      log_retention_days: ['left', 'store.retention'],
    })
    client?.left('docs/configuration.md has what headgate can be set to')
    root.members({
      $schema: ['left', 'config/headgate.schema.json is the schema of the new file'],
      encryption_key: ['left', 'keys of callers are kept as digests alone, keys of providers stand in the environment'],
      config_store: ['left', IN_STORE],
      logs_store: ['left', IN_STORE],
      vector_store: ['left', 'headgate has no cache of responses'],
      framework: ['replaced', 'price: snapshot'],
      plugins: ['left', 'docs/plugins.md, docs/guardrails.md'],
      mcp: ['left', 'the server tool router:mcp: docs/mcp.md'],
      guardrails_config: ['left', 'docs/guardrails.md'],
    })
  },
}

interface Reading {
  /** True if an empty list of models means all of them, false if it means none. */
  readonly whole: boolean
  readonly draft: ConfigDraft
}

function readProvider(name: string, part: Part, { whole, draft }: Reading): void {
  const network = part.part('network_config')
  const base = part.part('custom_provider_config')?.text('base_provider_type')
  const shared = draft.providerSettings(base ?? name, { base_url: network?.text('base_url'), key: 'none' })
  delete shared.key
  const total = network?.numberFor('default_request_timeout_in_seconds', LIMITS.attempt)
  if (total !== undefined) shared.timeouts = { total: seconds(total) }
  const headers = network?.entries('extra_headers') ?? []
  if (headers.length > 0) {
    shared.headers = Object.fromEntries(
      headers.map(([header, { value }]) => [header, draft.secret(String(value), `${name}_${header}`, `Header ${header}`)]),
    )
    network?.part('extra_headers')?.carried()
  }
  network?.members({
    max_retries: ['replaced', 'the next endpoint is tried, within a retry budget'],
    retry_backoff_initial: ['replaced', 'the next endpoint is tried at once'],
    retry_backoff_max: ['replaced', 'the next endpoint is tried at once'],
  })
  const keys = part.list('keys')
  if (keys.length === 0) serve(name, [`*`], { settings: shared, weight: undefined }, draft)
  for (const [index, key] of keys.entries()) readKey(name, key, { shared, number: index + 1, among: keys.length, whole }, draft)
  part.members({
    concurrency_and_buffer_size: ['replaced', 'queues by expected wait: docs/operations.md#overload'],
    proxy_config: ['left', 'connection.proxy of the provider'],
  })
  part.left('docs/providers.md')
}

interface KeyPlace {
  readonly shared: ProviderSettings
  readonly number: number
  readonly among: number
  readonly whole: boolean
}

/** A key of a provider is an account of its own here, since it has models and a weight. */
function readKey(provider: string, key: Part, { shared, number, among, whole }: KeyPlace, draft: ConfigDraft): void {
  const value = key.text('value')
  const label = key.text('name') ?? `${provider}-${number}`
  const settings: ProviderSettings = { ...shared }
  if (value !== undefined && value !== '') settings.key = draft.secret(value, `${label}_key`, `Key of ${provider}`)
  const azure = key.part('azure_key_config')
  const resource = azure?.text('endpoint')
  if (resource !== undefined) settings.base_url = baseUrl(settings.preset, draft.reference(resource))
  azure?.part('api_version')?.replaced('the API v1 of Azure, which takes no version')
  const names = Object.fromEntries(
    azure?.entries('deployments').flatMap(([model, { value }]) => (typeof value === 'string' ? [[model, value] as const] : [])) ?? [],
  )
  azure?.part('deployments')?.carried()
  for (const each of ['aliases', 'bedrock_key_config', 'vertex_key_config'])
    key.part(each)?.left('credential of the provider: docs/clouds has the steps for each cloud')
  const weight = among > 1 ? key.number('weight') : undefined
  if (among === 1) key.part('weight')?.replaced('the only key')
  const models = key.texts('models')
  const listed = key.part('models')
  if (listed !== undefined && models.length === 0 && !whole) listed.left('an empty list: the key serves no model')
  else serve(provider, models.length === 0 ? ['*'] : models, { settings, weight, names }, draft)
  key.part('id')?.left('an id of the store of Bifrost')
  key.left('docs/providers.md')
}

interface Served {
  readonly settings: ProviderSettings
  readonly weight: number | undefined
  /** Deployments by model. */
  readonly names?: Readonly<Record<string, string>>
}

function serve(provider: string, models: readonly string[], { settings, weight, names = {} }: Served, draft: ConfigDraft): void {
  const entry = draft.provider(provider, settings)
  for (const model of models)
    draft.endpoint(`${provider}/${model}`, {
      provider: entry,
      model: (Object.hasOwn(names, model) ? names[model] : undefined) ?? model,
      price: 'snapshot',
      ...(weight === undefined ? {} : { weight: weight === 0 ? 0 : Math.max(1, Math.round(weight * 1000)) }),
    })
}

function readGovernance(governance: Part, reading: Reading): void {
  for (const key of governance.list('virtual_keys')) readVirtualKey(key, governance, reading)
  governance.members({
    budgets: ['left', 'no virtual key of the file names it'],
    rate_limits: ['left', 'no virtual key of the file names it'],
    teams: ['left', 'docs/recipes has a budget of a team'],
    customers: ['left', 'docs/recipes has a budget of a team'],
    auth_config: ['left', 'admin.token, and management keys'],
    routing_rules: ['left', 'presets, and provider preferences of keys'],
  })
}

function readVirtualKey(key: Part, governance: Part, { whole, draft }: Reading): void {
  const name = key.text('name') ?? key.text('id') ?? 'key'
  const value = key.text('value')
  if (value === undefined) {
    key.left('a key without a value: it stands in the store of Bifrost; give out a new one')
    return
  }
  const entry: JsonObject & { name: string; key: string } = { name, key: draft.secret(value, `${name}_key`, `Secret of the key ${name}`) }
  if (key.text('is_active') === 'false') entry.disabled = true
  const models = key.list('provider_configs').flatMap((config) => {
    const provider = config.text('provider')
    const allowed = config.texts('allowed_models')
    config.members({ weight: ['left', 'weight of an endpoint, for all keys'], key_ids: ['left', 'provider: { only } of the key'] })
    config.left('limit and limits of the key')
    return provider === undefined ? [] : (allowed.length === 0 && whole ? ['*'] : allowed).map((model) => `${provider}/${model}`)
  })
  if (models.length > 0) entry.allowed_models = models
  else if (!whole) {
    entry.disabled = true
    key.part('provider_configs')?.replaced('disabled: true, since it may use no model')
  }
  const budget = key.part('budget') ?? named(governance, 'budgets', key.text('budget_id'))
  const limit = budget?.number('max_limit')
  const window = budget?.text('reset_duration')
  if (limit !== undefined) entry.limit = plainDecimal(limit)
  if (window !== undefined) {
    const reset = resetFor(window)
    if (reset === undefined)
      budget?.part('reset_duration')?.left('limit_reset is daily, weekly or monthly; the limit holds for all time now')
    else entry.limit_reset = reset
  }
  const limits = rateLimits(key.part('rate_limit') ?? named(governance, 'rate_limits', key.text('rate_limit_id')))
  if (Object.keys(limits).length > 0) entry.limits = limits
  budget?.left('what the budget has spent so far stands in the store of Bifrost')
  draft.key(entry)
  key.members({
    id: ['left', 'an id of the store of Bifrost'],
    team_id: ['left', 'docs/recipes has a budget of a team'],
    customer_id: ['left', 'docs/recipes has a budget of a team'],
  })
  key.left('docs/keys.md')
}

const named = (governance: Part, list: string, id: string | undefined): Part | undefined =>
  id === undefined ? undefined : governance.list(list).find((part) => isObject(part.value) && part.value.id === id)

/** Returns the limits per minute: headgate has no others. */
function rateLimits(part: Part | undefined): JsonObject {
  const limits: JsonObject = {}
  for (const [ours, theirs] of [
    ['requests', 'request'],
    ['tokens', 'token'],
  ] as const) {
    const window = part?.part(`${theirs}_reset_duration`)?.value
    const most = window === '1m' ? part?.number(`${theirs}_max_limit`) : undefined
    if (most === undefined) continue
    part?.part(`${theirs}_reset_duration`)?.carried()
    limits[ours] = most
  }
  part?.left('limits are for a minute')
  return limits
}
