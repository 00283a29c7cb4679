/** Lets the model look for models of the gateway that its caller may use. */
import { badField, type JsonObject, type SessionTool, type ToolHost, type ToolOutcome, type ToolSession } from '../../plugin-api/index.ts'
import { entryOf, meets, queryOf, rank } from './query.ts'

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
  const query = queryOf(args)
  const found = rank(
    models.filter((model) => meets(model, query)),
    query,
  )
  const shown = found.slice(0, most)
  return {
    output: JSON.stringify({ models: shown.map(entryOf), total_results: found.length, showing: shown.length }),
    item: { query: typeof args.query === 'string' ? args.query : '', arguments: JSON.stringify(args) },
    status: 'completed',
  }
}
