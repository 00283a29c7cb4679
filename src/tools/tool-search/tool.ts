/** Keeps functions with `defer_loading` from the model until it has looked for them by a pattern. */
import {
  badField,
  type JsonObject,
  loaded,
  type SessionTool,
  type ToolChoice,
  type ToolContext,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { DeferredTools } from './search.ts'

const USUAL = 5
const MOST = 50

export const toolSearch: SessionTool = {
  name: 'tool_search',
  description:
    'Finds further functions by a pattern and makes them callable from the next turn on. Use it where none of the functions at hand does what is needed.',
  parameters: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        description: 'A regular expression of up to 200 characters, matched in any letter case against names, descriptions and arguments.',
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  plugin: 'tool-search',

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): ToolSession {
    if (context.client === 'chat') throw badField(`${at}.type`, 'is not available on chat completions')
    if (parameters.defer_loading === true) throw badField(`${at}.parameters.defer_loading`, 'the search cannot be deferred itself')
    const most = parameters.max_results ?? USUAL
    if (typeof most !== 'number' || !Number.isInteger(most) || most < 1 || most > MOST)
      throw badField(`${at}.parameters.max_results`, `expected a whole number from 1 to ${MOST}`)
    const request = context.request()
    checkChoice(request.toolChoice)
    const deferred = new DeferredTools(context.tools, request.items)
    return {
      bound: 0,
      offers: deferred.found,
      withholds: (spec) => deferred.withholds(spec),
      run: ({ query }) => search(deferred, typeof query === 'string' ? query : '', most),
    }
  },
}

/** Refuses a `tool_choice` that forces a call: the model may not see the function. */
function checkChoice(choice: ToolChoice | undefined): void {
  const free = choice === undefined || choice.mode === 'auto' || (choice.mode === 'opaque' && choice.of.type === 'allowed_tools')
  if (!free) throw badField('tool_choice', 'expected auto or allowed_tools beside tool_search')
}

async function search(deferred: DeferredTools, query: string, most: number): Promise<ToolOutcome> {
  const found = await deferred.find(query)
  if (typeof found === 'string') {
    return { output: JSON.stringify({ error: found }), item: { status: 'incomplete', query }, status: 'failed' }
  }
  const shown = found.slice(0, most)
  const tools = shown.map(({ name, description = '' }) => ({ name, description }))
  return {
    output: JSON.stringify({ tools, total_results: found.length, showing: shown.length }),
    item: { query },
    status: 'completed',
    offers: shown.map(loaded),
  }
}
