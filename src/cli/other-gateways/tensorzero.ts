/**
 * The configuration of TensorZero (`tensorzero.toml`), by `docs/gateway/configuration-reference.mdx` of github.com/tensorzero/tensorzero at
 * commit 0009fa32. Callers of its OpenAI endpoint name a model as `tensorzero::model_name::NAME`; here it is NAME.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ConfigDraft, EndpointSettings, ProviderSettings } from './config-draft.ts'
import type { OtherGateway } from './other-gateway.ts'
import { presetFor } from './provider-names.ts'
import { LIMITS, plainDecimal } from './quantities.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

export const tensorzero: OtherGateway = {
  name: 'tensorzero',
  title: GATEWAY_TITLES.tensorzero,
  compared: {
    release: 'github.com/tensorzero/tensorzero at commit 0009fa32',
    documents: 'https://github.com/tensorzero/tensorzero/blob/0009fa32/docs/gateway/configuration-reference.mdx',
    read: '2026-10',
  },
  recognises: (value) =>
    isObject(value.functions) ||
    isObject(value.embedding_models) ||
    Object.values(isObject(value.models) ? value.models : {}).some((each) => isObject(each) && Array.isArray(each.routing)),
  read: ({ root }, draft) => {
    for (const [name, part] of root.entries('models')) readModel(name, part, {}, draft)
    for (const [name, part] of root.entries('embedding_models')) readModel(name, part, { kind: 'embedding' }, draft)
    root.part('gateway')?.part('bind_address')?.left('server.host and server.port')
    root.members({
      gateway: ['left', 'docs/configuration.md has what headgate can be set to'],
      functions: [
        'left',
        'presets hold a model, its fallbacks, a system prompt and parameters; templates and schemas stay with the application',
      ],
      tools: ['left', 'tools stay with the application'],
      metrics: ['left', 'feedback on answers is not recorded'],
      evaluations: ['left', 'evaluations are not part of headgate'],
      rate_limiting: ['left', 'limit and limits of each key under auth.keys'],
      clickhouse: ['left', 'exports: docs/exports.md'],
      postgres: ['left', 'store.url'],
      object_storage: ['left', 'prompts and files of requests are not kept'],
      provider_types: ['left', 'key of each provider'],
    })
  },
}

function readModel(name: string, part: Part, facts: JsonObject, draft: ConfigDraft): void {
  const routing = part.texts('routing')
  const providers = new Map(part.entries('providers'))
  const endpoints = (routing.length === 0 ? [...providers.keys()] : routing).flatMap((each) => {
    const found = providers.get(each)
    return found === undefined ? [] : [readProvider(each, found, draft)]
  })
  for (const endpoint of endpoints)
    if (!draft.endpoint(name, endpoint, facts)) part.left('no name of a model here: letters, digits and . _ - with / between')
  draft.inOrder(name)
  part.part('timeouts')?.left('timeouts of each provider, and server.deadline')
  part.part('skip_relay')?.left('there is no relay')
  part.part('retries')?.replaced('the next endpoint is tried, within a retry budget')
}

function readProvider(name: string, part: Part, draft: ConfigDraft): EndpointSettings {
  const type = part.text('type') ?? name
  const settings = providerSettings(type, part, draft)
  const streaming = part.part('timeouts')?.part('streaming')
  const whole = part.part('timeouts')?.part('non_streaming')
  const total = streaming?.numberFor('total_ms', LIMITS.attempt) ?? whole?.numberFor('total_ms', LIMITS.attempt)
  if (total !== undefined) settings.timeouts = { total: `${total}ms` }
  streaming?.part('ttft_ms')?.left(LIMITS.firstByte)
  whole?.part('total_ms')?.left('timeouts.total has that of streams: one holds for both')
  const model = part.text('model_name') ?? part.text('deployment_id') ?? part.text('model_id') ?? name
  const endpoint: EndpointSettings = { provider: draft.provider(name, settings), model, price: readPrice(part) ?? 'snapshot' }
  part.members({
    extra_body: ['left', 'parameters of a preset, or quirks.body of the endpoint'],
    batch_cost: ['left', 'batches are not priced'],
    discard_unknown_chunks: ['replaced', 'unknown events are recorded: headgate providers drift'],
  })
  part.left('docs/providers.md, docs/clouds')
  return endpoint
}

function providerSettings(type: string, part: Part, draft: ConfigDraft): ProviderSettings {
  const location = part.part('api_key_location')
  const usual = location !== undefined && isObject(location.value) ? location.part('default') : location
  const text = typeof usual?.value === 'string' ? usual.value : undefined
  const isDynamic = text?.startsWith('dynamic::') === true
  if (isDynamic) usual?.left('a key that comes with each request: headgate has its own keys, and those of providers in the file')
  else usual?.carried()
  location?.left('keys of the provider, for several of one account')
  const address = part.text('api_base') ?? part.text('endpoint')
  // Of Anthropic's it has the operation too.
  const base = address?.replace(/\/messages\/?$/, '')
  const key = text === undefined || isDynamic || text === 'none' ? undefined : draft.secret(text, `${type}_api_key`, `Key of ${type}`)
  const kind = part.text('api_type')
  const preset = kind !== undefined && presetFor(`${type}_${kind}`) !== undefined ? `${type}_${kind}` : type
  const settings = draft.providerSettings(preset, { base_url: base, key })
  const headers = part.list('extra_headers').flatMap((header) => {
    const [name, value] = [header.text('name'), header.text('value')]
    return name === undefined || value === undefined ? [] : [[name, draft.secret(value, `${type}_${name}`, `Header ${name}`)] as const]
  })
  if (headers.length > 0) settings.headers = Object.fromEntries(headers)
  return settings
}

const INPUT = /^\/usage(?:Metadata)?\/(?:prompt_tokens|input_tokens|promptTokenCount)$/
const OUTPUT = /^\/usage(?:Metadata)?\/(?:completion_tokens|output_tokens|candidatesTokenCount)$/
const CACHED = /\/(?:cached_tokens|cache_read_input_tokens|cachedContentTokenCount)$/
const WRITTEN = /\/cache_creation_input_tokens$/

/** Rates by the places of counts in a reply: the usual ones are prices here. */
function readPrice(part: Part): JsonObject | undefined {
  const rates = part.list('cost').map((item) => ({
    item,
    at: String((isObject(item.value) ? (item.value.pointer ?? item.value.pointer_nonstreaming) : undefined) ?? ''),
    rate: item.number('cost_per_million'),
  }))
  const find = (place: RegExp): number | undefined => {
    const found = rates.find(({ at, rate }) => rate !== undefined && place.test(at))
    found?.item.carried()
    return found?.rate
  }
  const [prompt, completion, cached, written] = [find(INPUT), find(OUTPUT), find(CACHED), find(WRITTEN)]
  for (const { item } of rates) item.left('a fee that price of the endpoint may have a field for: docs/catalogue.md')
  if (prompt === undefined) return undefined
  return {
    prompt: plainDecimal(prompt),
    ...(completion === undefined ? {} : { completion: plainDecimal(completion) }),
    // A negative rate is taken off what the input has been charged already.
    ...(cached === undefined ? {} : { cached: plainDecimal(cached < 0 ? prompt + cached : cached) }),
    ...(written === undefined ? {} : { cache_write: plainDecimal(written) }),
  }
}
