/** The lists, described: models, endpoints, providers, presets. */

import { Type } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import { MODEL_QUERIES } from '../routing/criteria/index.ts'
import { SORTS } from './model-filters.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'
import { count, endpoint, model, modelEndpoints, onePreset, page, presetList, provider } from './openapi-schemas.ts'

const query = (name: string, description: string, schema: JsonObject, example?: string | number): DescribedParameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})
const list = (name: string, description: string, example: string) =>
  query(name, `${description}; separated by commas.`, { type: 'string' }, example)
const least = (minimum: number): JsonObject => ({ type: 'integer', minimum })
const price: JsonObject = { type: 'number', minimum: 0 }

const OFFSET = query('offset', 'Entries to skip.', least(0), 0)
const PAGING = [
  OFFSET,
  query(
    'limit',
    'Entries per page at most; without offset and limit all entries come at once.',
    { type: 'integer', minimum: 1, maximum: 1000 },
    100,
  ),
]

const OUTPUT = list('output_modalities', 'Output modalities: `text` by default, `all` for every model', 'text')

const FILTERS = [
  query('q', 'A part of the slug or the name.', { type: 'string' }, 'e'),
  OUTPUT,
  list('input_modalities', 'Input modalities', 'text'),
  list('supported_parameters', 'Parameters that the model supports', 'temperature'),
  query('context', 'Tokens of context, at least.', least(1), 1),
  query('min_price', 'USD per million input tokens, at least.', price, 0),
  query('max_price', 'USD per million input tokens, at most.', price, 100),
  query('min_output_price', 'USD per million output tokens, at least.', price, 0),
  query('max_output_price', 'USD per million output tokens, at most.', price, 500),
  list('model_authors', 'Authors: the part before the slash', 'sim'),
  list('providers', 'Providers that serve the model', 'sim'),
  ...MODEL_QUERIES.map(({ name, text }) => query(name, text, { type: 'string', enum: ['true', 'false'] }, 'false')),
  query('min_age_days', 'Days since the release, at least.', least(0), 0),
  query('max_age_days', 'Days since the release, at most.', least(0), 3650),
  query('sort', 'Models without the figure come last.', { type: 'string', enum: [...SORTS] }, 'newest'),
]

/** @param slug of a model that is there, for the examples. */
export function listOperations(slug: string): DescribedOperation[] {
  const [author = '', name = ''] = slug.split('/')
  const path = (given: string, description: string, example: string): DescribedParameter => ({
    name: given,
    in: 'path',
    description,
    schema: { type: 'string' },
    example,
  })
  const oneModel = [
    path('author', 'The part before the slash.', author),
    path('slug', 'The part after the slash; variants and aliases work too.', name),
  ]
  const models = { tag: 'Models', key: 'any' } as const
  const entries = {
    description: 'A page of models.',
    schema: Type.Object({ object: Type.Literal('list'), ...page(model).properties }),
  }
  return [
    {
      ...models,
      method: 'get',
      path: '/models',
      id: 'listModels',
      summary: 'List models',
      description: 'All lists of models contain only models that the key may use.',
      parameters: [...FILTERS, ...PAGING],
      reply: entries,
      faults: ['bad_request'],
    },
    {
      ...models,
      method: 'get',
      path: '/models/count',
      id: 'countModels',
      summary: 'Count models',
      parameters: [OUTPUT],
      reply: { description: 'How many there are.', schema: count },
    },
    {
      ...models,
      method: 'get',
      path: '/models/user',
      id: 'listKeyModels',
      summary: 'List models of every kind',
      parameters: PAGING,
      reply: entries,
      faults: ['bad_request'],
    },
    {
      ...models,
      method: 'get',
      path: '/embeddings/models',
      id: 'listEmbeddingModels',
      summary: 'List embedding models',
      parameters: PAGING,
      reply: entries,
      faults: ['bad_request'],
    },
    {
      ...models,
      method: 'get',
      path: '/model/{author}/{slug}',
      id: 'getModel',
      summary: 'Get a model',
      parameters: oneModel,
      reply: { description: 'The model.', schema: Type.Object({ data: model }) },
      faults: ['model_not_found'],
    },
    {
      ...models,
      method: 'get',
      path: '/models/{author}/{slug}',
      id: 'retrieveModel',
      summary: 'Retrieve a model',
      description: 'The entry itself, as SDKs expect it. The slash may be encoded as `%2F`.',
      parameters: oneModel,
      reply: { description: 'The model.', schema: model },
      faults: ['model_not_found'],
    },
    {
      ...models,
      method: 'get',
      path: '/models/{author}/{slug}/endpoints',
      id: 'listEndpoints',
      summary: 'List the endpoints of a model',
      description: 'With recent latency, throughput and uptime.',
      parameters: oneModel,
      reply: { description: 'The model and its endpoints.', schema: modelEndpoints },
      faults: ['model_not_found'],
    },
    {
      ...models,
      method: 'get',
      path: '/endpoints/zdr',
      id: 'listZdrEndpoints',
      summary: 'List endpoints without data retention',
      reply: { description: 'Endpoints.', schema: Type.Object({ data: Type.Array(endpoint) }) },
    },
    {
      ...models,
      method: 'get',
      path: '/providers',
      id: 'listProviders',
      summary: 'List providers',
      reply: { description: 'Providers.', schema: Type.Object({ data: Type.Array(provider) }) },
    },
    {
      method: 'get',
      path: '/presets',
      id: 'listPresets',
      tag: 'Presets',
      key: 'any',
      summary: 'List presets',
      parameters: [OFFSET, query('limit', 'Entries per page at most.', { type: 'integer', minimum: 1, maximum: 100 }, 50)],
      reply: { description: 'Presets.', schema: presetList },
      faults: ['bad_request'],
    },
    {
      method: 'get',
      path: '/presets/{slug}',
      id: 'getPreset',
      tag: 'Presets',
      key: 'any',
      summary: 'Get a preset',
      parameters: [path('slug', 'Name of the preset.', 'support')],
      reply: { description: 'The preset.', schema: onePreset },
      faults: ['not_found'],
    },
  ]
}
