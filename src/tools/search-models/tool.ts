/** Lets the model look for models of the gateway that its caller may use. */
import {
  badField,
  type Endpoint,
  type JsonObject,
  type Model,
  type SessionTool,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'

const USUAL = 5
const MOST = 20

const modalities = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description })

/** Free. Shows no more than the models that the caller's key may use. */
export const searchModels: SessionTool = {
  name: 'experimental__search_models',
  description: 'Finds models that this gateway offers: names, context lengths, modalities and prices in USD per million tokens.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words of a name or a description.' },
      input_modalities: modalities('Such as text, image, file or audio.'),
      output_modalities: modalities('Such as text or image.'),
      min_context_length: { type: 'integer', description: 'Tokens.' },
      series: { type: 'string', description: 'A family of models, or who made them.' },
    },
    additionalProperties: false,
  },
  plugin: 'experimental-search-models',

  begin(parameters: JsonObject, at: string): ToolSession {
    const most = parameters.max_results ?? USUAL
    if (typeof most !== 'number' || !Number.isInteger(most) || most < 1 || most > MOST)
      throw badField(`${at}.parameters.max_results`, `expected a whole number from 1 to ${MOST}`)
    return { bound: 0, run: (args, host) => search(args, host, most) }
  },
}

function search(args: JsonObject, { models }: ToolHost, most: number): ToolOutcome {
  const query = parseQuery(args)
  const found = rank(
    models.filter((model) => meets(model, query)),
    query,
  )
  const shown = found.slice(0, most)
  return {
    output: JSON.stringify({ models: shown.map(modelResult), total_results: found.length, showing: shown.length }),
    item: { query: typeof args.query === 'string' ? args.query : '', arguments: JSON.stringify(args) },
    status: 'completed',
  }
}

interface ModelQuery {
  /** Words, in lower case; a model meets all of them. */
  readonly words: readonly string[]
  readonly input: readonly string[]
  readonly output: readonly string[]
  /** Tokens. */
  readonly context: number
  /** Family, as the beginning of the name or of its author; '' for any. */
  readonly series: string
}

/** Characters of a query: every word is looked for in every model. */
const MAX_QUERY_LENGTH = 500

/** @throws Fault 400 naming the argument. */
function parseQuery(args: JsonObject): ModelQuery {
  const { query, min_context_length: context, series } = args
  if (query !== undefined && query !== null && typeof query !== 'string') throw badField('query', 'expected a text')
  if (query && query.length > MAX_QUERY_LENGTH) throw badField('query', `expected at most ${MAX_QUERY_LENGTH} characters`)
  if (series !== undefined && series !== null && typeof series !== 'string') throw badField('series', 'expected a text')
  if (context !== undefined && context !== null && !(typeof context === 'number' && context >= 0))
    throw badField('min_context_length', 'expected a number of tokens')
  return {
    words: [...new Set((query ?? '').toLowerCase().split(/\s+/))].filter((word) => word !== ''),
    input: modalityList(args, 'input_modalities'),
    output: modalityList(args, 'output_modalities'),
    context: context ?? 0,
    series: (series ?? '').trim().toLowerCase(),
  }
}

const MAX_MODALITIES = 64

function modalityList(args: JsonObject, name: string): string[] {
  const given = args[name] ?? []
  const list = typeof given === 'string' ? given.split(',') : given
  if (!Array.isArray(list) || list.length > MAX_MODALITIES || !list.every((one) => typeof one === 'string'))
    throw badField(name, 'expected a list such as ["text"]')
  return list.map((one) => String(one).trim().toLowerCase()).filter((one) => one !== '')
}

function meets(model: Model, { words, input, output, context, series }: ModelQuery): boolean {
  const text = `${model.slug} ${model.name} ${model.description}`.toLowerCase()
  return (
    words.every((word) => text.includes(word)) &&
    input.every((one) => model.input.includes(one)) &&
    output.every((one) => model.output.includes(one)) &&
    (context === 0 || (model.context ?? 0) >= context) &&
    isOfSeries(model, series)
  )
}

function isOfSeries({ slug, name }: Model, series: string): boolean {
  const [author, plain = ''] = slug.toLowerCase().split('/')
  return (
    series === '' ||
    author === series ||
    plain.startsWith(series) ||
    name
      .toLowerCase()
      .split(/[\s:]+/)
      .includes(series)
  )
}

/** Models that have a word in their slug or name come before those that have it in their description only. */
function rank(models: readonly Model[], { words }: ModelQuery): Model[] {
  const hits = (model: Model): number => words.filter((word) => `${model.slug} ${model.name}`.toLowerCase().includes(word)).length
  return [...models].sort((a, b) => hits(b) - hits(a))
}

/** @returns what the calling model reads: prices in USD per million tokens, of the cheapest endpoint. */
function modelResult(model: Model): JsonObject {
  const price = cheapest(model.endpoints)
  return {
    id: model.slug,
    name: model.name,
    ...(model.description === '' ? {} : { description: model.description.slice(0, MAX_DESCRIPTION) }),
    context_length: model.context ?? null,
    input_modalities: [...model.input],
    output_modalities: [...model.output],
    ...(price ? { pricing: price } : {}),
  }
}

const MAX_DESCRIPTION = 500
/** Attodollars per token are so many USD per million tokens. */
const PER_MILLION = 1e12

function cheapest(endpoints: readonly Endpoint[]): JsonObject | undefined {
  let found: { prompt: number; completion: number } | undefined
  for (const { price } of endpoints) {
    if (price === 'unpriced') continue
    const one =
      price === 'free'
        ? { prompt: 0, completion: 0 }
        : { prompt: Number(price.prompt) / PER_MILLION, completion: Number(price.completion) / PER_MILLION }
    if (!found || one.prompt + one.completion < found.prompt + found.completion) found = one
  }
  return found
}
