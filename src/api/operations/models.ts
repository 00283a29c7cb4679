/** Models and their endpoints, as every key may read them. */
import type { IncomingHttpHeaders } from 'node:http'
import { type TSchema, Type } from 'typebox'
import { listAnthropicModels, oneAnthropicModel } from '../anthropic-models.ts'
import type { DescribedParameter, ExampleModels } from '../described-operation.ts'
import { listEndpoints, listZdrEndpoints } from '../endpoints.ts'
import { MODEL_FILTERS, outputModalities, sortsByUse } from '../model-filters.ts'
import { weekOfUse } from '../model-use.ts'
import { countModels, listEmbeddingModels, listKeyModels, listModels, oneModel, PAGING, retrievedModel } from '../models.ts'
import { decoded, type Operation, operation } from '../operation.ts'
import { count, data, flag, maybe, text, texts, whole } from '../schemas.ts'

const usd = (description: string) => Type.String({ description: `${description}, USD, a decimal string`, pattern: '^-?\\d+(\\.\\d+)?$' })

const pricing = Type.Object(
  {
    prompt: usd('Per input token; -1 where no price is known'),
    completion: usd('Per output token'),
    request: Type.Optional(usd('Per request, on top')),
    image: Type.Optional(usd('Per image, on top')),
    input_cache_read: Type.Optional(usd('Per input token read from a cache')),
    input_cache_write: Type.Optional(usd('Per input token written to a cache')),
    overrides: Type.Optional(Type.Array(Type.Object({}), { description: 'Other prices for long prompts or hours of the day.' })),
  },
  { description: 'Prices in USD per token or unit.' },
)

const architecture = Type.Object({
  modality: maybe(Type.String()),
  input_modalities: texts(),
  output_modalities: texts(),
  tokenizer: text(),
  instruct_type: maybe(Type.String()),
})

export const model = Type.Object(
  {
    id: text('`author/name`: the value of `model` in a request.'),
    object: Type.Literal('model'),
    owned_by: text('The author.'),
    canonical_slug: text(),
    name: text(),
    created: whole('Unix seconds of the release; 0 where unknown.'),
    description: text(),
    context_length: maybe(whole('Tokens of input and output together.')),
    architecture,
    pricing,
    top_provider: Type.Object({
      context_length: maybe(Type.Integer()),
      max_completion_tokens: maybe(Type.Integer()),
      is_moderated: Type.Boolean(),
    }),
    per_request_limits: maybe(Type.Object({})),
    supported_parameters: texts(),
    default_parameters: maybe(Type.Object({})),
    supported_voices: maybe(texts()),
    links: Type.Object({ details: Type.String() }),
    alias_target: Type.Optional(Type.Object({ slug: Type.String(), name: Type.String() })),
  },
  { description: 'A model, with the price of its cheapest endpoint.' },
)

const percentiles = maybe(Type.Object({ p50: Type.Number(), p75: Type.Number(), p90: Type.Number(), p99: Type.Number() }))

export const endpoint = Type.Object(
  {
    name: text(),
    model_id: text(),
    model_name: text(),
    provider_name: text(),
    tag: text('`provider` or `provider/variant`: its name in provider preferences.'),
    context_length: whole(),
    max_completion_tokens: maybe(Type.Integer()),
    max_prompt_tokens: maybe(Type.Integer()),
    pricing,
    quantization: text(),
    status: Type.Integer({ description: '0 where it is healthy, less where it is not.', maximum: 0 }),
    supported_parameters: texts(),
    supports_implicit_caching: flag(),
    uptime_last_5m: maybe(Type.Number()),
    uptime_last_30m: maybe(Type.Number()),
    uptime_last_1d: maybe(Type.Number()),
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
  },
  { description: 'One model at one provider, with its recent figures.' },
)

const page = (entry: TSchema) =>
  Type.Object({
    data: Type.Array(entry),
    total_count: whole('Entries of all pages together.'),
    links: Type.Object({ next: maybe(text('Address of the next page; null on the last.')) }),
  })

const modelEndpoints = data(
  Type.Object({
    id: text(),
    name: text(),
    description: text(),
    created: whole(),
    architecture,
    endpoints: Type.Array(endpoint),
  }),
)

const entries = {
  description: 'A page of models.',
  schema: Type.Object({ object: Type.Literal('list'), ...page(model).properties }),
}

const part = (name: string, description: string, example: DescribedParameter['example']): DescribedParameter => ({
  name,
  in: 'path',
  description,
  schema: { type: 'string' },
  ...(example === undefined ? {} : { example }),
})
const half =
  (at: 0 | 1) =>
  (models: ExampleModels): string =>
    models.generate.split('/')[at] ?? ''
const NAMED = [
  part('author', 'The part before the slash.', half(0)),
  part('slug', 'The part after the slash; variants and aliases work too.', half(1)),
]

/** Clients of messages name the version of their API. */
const isMessages = (headers: IncomingHttpHeaders): boolean => headers['anthropic-version'] !== undefined

const models = { tag: 'Models', roles: 'any', reach: 'own' } as const

export const modelOperations: readonly Operation[] = [
  operation('GET /models', {
    ...models,
    id: 'listModels',
    summary: 'List models',
    description: 'All lists of models contain only models that the key may use.',
    parameters: [...MODEL_FILTERS, ...PAGING],
    reply: entries,
    faults: ['bad_request'],
    async handle({ query, key, headers }, source) {
      const listed = source.listedFor(key)
      if (isMessages(headers)) return listAnthropicModels(query, listed)
      return listModels(query, sortsByUse(query) ? { ...listed, use: await weekOfUse(source.scans, source.clock) } : listed)
    },
  }),
  operation('GET /models/count', {
    ...models,
    id: 'countModels',
    summary: 'Count models',
    parameters: [outputModalities],
    reply: { description: 'How many there are.', schema: data(Type.Object({ count: count() })) },
    handle: ({ query, key }, source) => countModels(query, source.listedFor(key)),
  }),
  operation('GET /models/user', {
    ...models,
    id: 'listKeyModels',
    summary: 'List models of every kind',
    parameters: PAGING,
    reply: entries,
    faults: ['bad_request'],
    handle: ({ query, key }, source) => listKeyModels(query, source.listedFor(key)),
  }),
  operation('GET /embeddings/models', {
    ...models,
    id: 'listEmbeddingModels',
    summary: 'List embedding models',
    parameters: PAGING,
    reply: entries,
    faults: ['bad_request'],
    handle: ({ query, key }, source) => listEmbeddingModels(query, source.listedFor(key)),
  }),
  operation('GET /model/{author}/{slug}', {
    ...models,
    id: 'getModel',
    summary: 'Get a model',
    parameters: NAMED,
    reply: { description: 'The model.', schema: data(model) },
    faults: ['model_not_found'],
    match: /^\/v1\/model\/(?<author>)(?<slug>.*)$/,
    handle: ({ path, key }, source) => oneModel(decoded(path.slug), source.listedFor(key)),
  }),
  operation('GET /models/{author}/{slug}', {
    ...models,
    id: 'retrieveModel',
    summary: 'Retrieve a model',
    description: 'The entry itself, as SDKs expect it. The slash may be encoded as `%2F`.',
    parameters: NAMED,
    reply: { description: 'The model.', schema: model },
    faults: ['model_not_found'],
    match: /^\/v1\/models\/(?!.+\/endpoints$)(?<author>)(?<slug>.+)$/,
    handle: ({ path, key, headers }, source) =>
      (isMessages(headers) ? oneAnthropicModel : retrievedModel)(decoded(path.slug), source.listedFor(key)),
  }),
  operation('GET /models/{author}/{slug}/endpoints', {
    ...models,
    id: 'listEndpoints',
    summary: 'List the endpoints of a model',
    description: 'With recent latency, throughput and uptime.',
    parameters: NAMED,
    reply: { description: 'The model and its endpoints.', schema: modelEndpoints },
    faults: ['model_not_found'],
    match: /^\/v1\/models\/(?<author>)(?<slug>.+)\/endpoints$/,
    handle: ({ path, key }, source) => listEndpoints(decoded(path.slug), source.listedFor(key)),
  }),
  operation('GET /endpoints/zdr', {
    ...models,
    id: 'listZdrEndpoints',
    summary: 'List endpoints without data retention',
    reply: { description: 'Endpoints.', schema: data(Type.Array(endpoint)) },
    handle: ({ key }, source) => listZdrEndpoints(source.listedFor(key)),
  }),
]
