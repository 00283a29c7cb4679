/**
 * The configuration of LiteLLM's proxy (`config.yaml`), as PyPI litellm 1.110.2 reads it: `proxy/_types.py` (ConfigYAML, ConfigGeneralSettings),
 * `types/router.py` (LiteLLM_Params, ModelInfo, UpdateRouterConfig), and the files of `proxy/example_config_yaml`.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ConfigDraft, EndpointSettings, ProviderSettings } from './config-draft.ts'
import { importedKind, NO_TEXT } from './model-kinds.ts'
import type { OtherGateway } from './other-gateway.ts'
import { bareProvider, presetFor } from './provider-names.ts'
import { LIMITS, perMillion, seconds, wholeWeight } from './quantities.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

const CALLBACKS = 'telemetry, events and exports of headgate: docs/observability.md'
const DOCS = 'docs/migration/litellm/settings.md has what stands for it'

export const litellm: OtherGateway = {
  name: 'litellm',
  title: GATEWAY_TITLES.litellm,
  compared: { release: 'litellm 1.110.2 of PyPI', documents: 'https://docs.litellm.ai/docs/proxy/configs', read: '2026-11' },
  recognises: (value) => Array.isArray(value.model_list) || isObject(value.litellm_settings) || isObject(value.router_settings),
  read: ({ root }, draft) => {
    for (const [index, entry] of root.list('model_list').entries()) readModel(entry, index, draft)
    draft.placeAll()
    const router = root.part('router_settings')
    const settings = root.part('litellm_settings')
    // Of two the first counts (LiteLLM's documentation, Timeouts).
    const deadline = router?.numberFor('timeout', LIMITS.request) ?? settings?.numberFor('request_timeout', LIMITS.request)
    if (deadline !== undefined) draft.set('server.deadline', seconds(deadline))
    if (router) readRouter(router, draft)
    if (settings) readSettings(settings)
    for (const part of [router, settings]) if (part) readFallbacks(part, draft)
    const general = root.part('general_settings')
    if (general) readGeneral(general, draft)
    root.part('environment_variables')?.left('set these variables where headgate is started')
    for (const name of ['mcp_servers', 'guardrails', 'vector_store_registry', 'credential_list', 'files_settings', 'finetune_settings'])
      root.part(name)?.left(DOCS)
  },
}

function readModel(entry: Part, index: number, draft: ConfigDraft): void {
  const name = entry.text('model_name') ?? `model-${index + 1}`
  const params = entry.part('litellm_params')
  const info = entry.part('model_info')
  if (params === undefined) {
    entry.left('an entry without litellm_params serves nothing')
    return
  }
  const mock = params.part('mock_response')
  const mode = info?.text('mode')
  if (importedKind(mode, params.text('model') ?? name) === 'other' && !mock) {
    leaveOut([entry, params, info], NO_TEXT)
    return
  }
  const written = params.text('model') ?? name
  const [prefix = '', ...rest] = written.includes('/')
    ? written.split('/')
    : [params.text('custom_llm_provider') ?? bareProvider(written), written]
  const model = rest.join('/')
  const preset = presetFor(prefix)
  if (preset === 'vertex-gemini' && OF_OTHERS.test(model)) {
    leaveOut([entry, params, info], 'Vertex AI serves models of other makers over an API for which there is no preset')
    return
  }
  // A preset of its own has the Responses API of OpenAI; that of Azure is of this API.
  const responses = model.startsWith('responses/') && presetFor(`${prefix}_responses`) !== undefined
  const provider = preset === 'vertex-gemini' && model.startsWith('claude') ? 'vertex_claude' : responses ? `${prefix}_responses` : prefix
  const endpoint: EndpointSettings = mock
    ? { provider: draft.provider('sim', { dialect: 'sim' }), model: 'echo' }
    : {
        provider: draft.provider(
          provider === 'vertex_claude' ? provider : prefix || 'provider',
          providerSettings(provider, params, name, draft),
        ),
        model: model.replace(/^(?:responses|converse|invoke)\//, ''),
        price: readPrice(params, info, importedKind(mode, model) === 'embedding') ?? 'snapshot',
      }
  const weight = params.number('weight')
  if (weight !== undefined) endpoint.weight = wholeWeight(weight)
  const facts: JsonObject = {}
  const [context, output] = [info?.number('max_input_tokens'), info?.number('max_output_tokens') ?? info?.number('max_tokens')]
  if (context !== undefined) facts.context = context
  if (output !== undefined) facts.max_output = output
  if (mode !== undefined) facts.kind = importedKind(mode, model) === 'embedding' ? 'embedding' : 'generate'
  // Callers named no provider: here they do.
  const slug = name === '*' ? `${prefix}/*` : name
  if (!draft.endpoint(slug, endpoint, facts))
    entry.part('model_name')?.left('no name of a model here: letters, digits and . _ - with / between')
  else if (slug !== name) entry.part('model_name')?.replaced(`${slug}: a request names the provider too`)
  const order = params.number('order')
  if (order !== undefined) {
    params.part('order')?.replaced('the place of the endpoint in provider.order: endpoints are tried one after another')
    draft.givePlace(slug, order)
  }
  params.members({
    rpm: ['left', "a provider's 429 makes headgate try the next endpoint"],
    tpm: ['left', "a provider's 429 makes headgate try the next endpoint"],
    max_retries: ['replaced', 'the next endpoint is tried, within a retry budget'],
    temperature: ['left', 'parameters of a preset: docs/configuration/presets.md#presets'],
    max_tokens: ['left', 'parameters of a preset: docs/configuration/presets.md#presets'],
    tags: ['left', 'only and ignore in provider of a key'],
    organization: ['left', 'headers of the provider: OpenAI-Organization'],
    max_parallel_requests: ['left', "a provider's 429 makes headgate try the next endpoint"],
    mock_response: ['replaced', 'the model echo of the dialect sim, which answers without a provider with the text of the question'],
  })
  params.left(mock ? 'no provider is called where mock_response stands' : DOCS)
  info?.left('facts that headgate knows of the model itself, or does not use')
}

/** Models of Mistral, Meta and others (docs.cloud.google.com, Model Garden, partner models). */
const OF_OTHERS = /^(?:mistral|codestral|llama|meta\/|deepseek|qwen|jamba|ai21|openai\/|minimax|moonshot|zai|grok|xai)/

function leaveOut(parts: readonly (Part | undefined)[], why: string): void {
  parts[0]?.left(why)
  for (const part of parts) for (const [, member] of part?.entries() ?? []) member.left(why)
}

/** @param name of the model, by which a secret of the file is called. */
function providerSettings(prefix: string, params: Part, name: string, draft: ConfigDraft): ProviderSettings {
  const key = params.text('api_key')
  const settings = draft.providerSettings(prefix, {
    base_url: params.text('api_base') ?? params.text('base_url'),
    key: key === undefined ? undefined : draft.secret(key, `${prefix}_${name}_api_key`, `Key of ${prefix} for ${name}`),
  })
  params.part('api_version')?.replaced('the API v1 of Azure, which takes no version')
  const headers = params
    .entries('extra_headers')
    .flatMap(([header, { value }]) => (typeof value === 'string' ? [[header, value] as const] : []))
  if (headers.length > 0) {
    settings.headers = Object.fromEntries(
      headers.map(([header, value]) => [header, draft.secret(value, `${prefix}_${header}`, `Header ${header}`)]),
    )
    params.part('extra_headers')?.carried()
  }
  const total = params.numberFor('timeout', LIMITS.attempt) ?? params.numberFor('request_timeout', LIMITS.attempt)
  if (total !== undefined) settings.timeouts = { total: seconds(total) }
  params.part('stream_timeout')?.left(LIMITS.firstByte)
  return settings
}

const COSTS = ['input_cost_per_token', 'cache_read_input_token_cost', 'cache_creation_input_token_cost']

function readPrice(params: Part, info: Part | undefined, isVectors: boolean): JsonObject | undefined {
  const cost = (name: string): number | undefined => params.number(name) ?? info?.number(name)
  const [prompt, completion] = [cost('input_cost_per_token'), cost('output_cost_per_token')]
  const [cached, written] = [cost('cache_read_input_token_cost'), cost('cache_creation_input_token_cost')]
  if (prompt === undefined) return undefined
  if (completion === undefined && !isVectors) {
    for (const part of [params, info])
      for (const name of COSTS)
        part?.part(name)?.left('a price here has both sides: state output_cost_per_token beside input_cost_per_token')
    return undefined
  }
  return {
    prompt: perMillion(prompt),
    ...(completion === undefined ? {} : { completion: perMillion(completion) }),
    ...(cached === undefined ? {} : { cached: perMillion(cached) }),
    ...(written === undefined ? {} : { cache_write: perMillion(written) }),
  }
}

const SORTS: Readonly<Record<string, string>> = {
  'cost-based-routing': 'price',
  'latency-based-routing': 'latency',
  'least-busy': 'least_busy',
}

function readRouter(router: Part, draft: ConfigDraft): void {
  const strategy = router.text('routing_strategy')
  if (strategy !== undefined && Object.hasOwn(SORTS, strategy)) draft.set('provider.sort', SORTS[strategy])
  else if (strategy === 'simple-shuffle')
    router
      .part('routing_strategy')
      ?.replaced('the default order, a draw that prefers cheap endpoints; with order or fallbacks their places decide')
  else router.part('routing_strategy')?.left('provider.sort: docs/routing.md has the orders')
  for (const [name, part] of router.entries('model_group_alias')) {
    const model = isObject(part.value) ? part.text('model') : typeof part.value === 'string' ? part.value : undefined
    if (model !== undefined && draft.alias(name, model)) part.carried()
    else part.left('no alias here: a name may not be that of a model too')
  }
  router.members({
    stream_timeout: ['left', LIMITS.firstByte],
    num_retries: ['replaced', 'the next endpoint is tried, within a retry budget'],
    retry_policy: ['replaced', 'the next endpoint is tried, within a retry budget'],
    allowed_fails: ['replaced', 'five failures in a row eject an endpoint'],
    cooldown_time: ['replaced', 'an ejection lasts for 1 to 30 seconds'],
    enable_pre_call_checks: ['replaced', 'endpoints whose context is too short are always left out'],
    redis_host: ['left', 'shared.url, as rediss://host:port'],
    redis_port: ['left', 'shared.url, as rediss://host:port'],
    redis_password: ['left', 'shared.url, as rediss://:password@host:port'],
    redis_url: ['left', 'shared.url'],
  })
}

function readSettings(settings: Part): void {
  settings.members({
    request_timeout: ['left', 'timeout of router_settings, which counts before it'],
    drop_params: ['replaced', 'parameters that an endpoint does not take are always left out'],
    num_retries: ['replaced', 'the next endpoint is tried, within a retry budget'],
    set_verbose: ['replaced', 'log.level'],
    json_logs: ['replaced', 'log.format: json'],
    telemetry: ['replaced', 'headgate reports nothing to its makers'],
    cache: ['left', 'headgate has no cache of responses'],
    cache_params: ['left', 'headgate has no cache of responses'],
    callbacks: ['left', CALLBACKS],
    success_callback: ['left', CALLBACKS],
    failure_callback: ['left', CALLBACKS],
    max_budget: ['left', 'limit of each key'],
    budget_duration: ['left', 'limit_reset of each key'],
    max_internal_user_budget: ['left', 'limit of each key'],
  })
}

function readFallbacks(part: Part, draft: ConfigDraft): void {
  for (const name of ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'])
    for (const item of part.list(name))
      for (const [model, next] of item.entries()) {
        const names = Array.isArray(next.value) ? next.value.filter((each) => typeof each === 'string') : []
        if (name === 'fallbacks' && draft.fallback(model, names))
          next.replaced(`endpoints of ${model} behind its own: provider.order has the place of each, and they are tried one after another`)
        else
          next.left(
            name === 'fallbacks'
              ? 'one of these models is not in the file'
              : 'models of a request or of a preset: after such a refusal no other endpoint of the model is tried, but the next model is',
          )
      }
  part.part('default_fallbacks')?.left('models of a request or of a preset')
}

function readGeneral(general: Part, draft: ConfigDraft): void {
  const master = general.text('master_key')
  if (master !== undefined) {
    draft.key({
      name: 'master',
      key: draft.secret(master, 'HEADGATE_MASTER_KEY', 'Management key, which generates nothing'),
      management: true,
    })
    general.part('master_key')?.replaced('a management key, which manages keys and generates nothing')
  }
  // Its megabytes are those of this file: 1024 × 1024 bytes.
  const size = general.numberFor('max_request_size_mb', 'server.max_body')
  if (size !== undefined) draft.set('server.max_body', `${Math.ceil(size)}MB`)
  // A start of LiteLLM may drop tables of its database that its schema does not have: github.com/BerriAI/litellm/issues/9558.
  if (general.part('database_url') !== undefined) {
    draft.set('store.url', draft.variable('HEADGATE_DATABASE', 'Address of a PostgreSQL database for headgate alone, not that of LiteLLM'))
    general
      .part('database_url')
      ?.replaced('store.url, by HEADGATE_DATABASE: another database than that of LiteLLM, whose keys and spending are not read')
  }
  general.members({
    store_model_in_db: ['left', 'models stand in the file, which is read again when it changes'],
    alerting: ['left', 'events.receivers'],
    allowed_ips: ['left', 'a proxy or firewall in front'],
    use_x_forwarded_for: ['left', 'server.trusted_proxies'],
    enable_jwt_auth: ['left', 'auth.issuers: docs/identity.md'],
    litellm_jwtauth: ['left', 'auth.issuers: docs/identity.md'],
    store_audit_logs: ['replaced', 'the audit log, which is always kept'],
    litellm_key_header_name: ['left', 'Authorization: Bearer, or x-api-key'],
  })
}
