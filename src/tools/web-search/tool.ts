/** Lets the model search the web with the engine that the operator has configured, within the caller's limits. */
import {
  accountFor,
  Citations,
  type EngineAccount,
  type Host,
  hasEngines,
  type JsonObject,
  type SearchParameters,
  type SessionTool,
  searchDesk,
  searchParameters,
  searchWeb,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'

/** The caller's `parameters` of the tool, with the account of the engine that is called. */
interface WebSearchConfig extends SearchParameters {
  account: EngineAccount
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `web`.
 * @throws Fault 400 naming the path; it says what is to be configured where no engine is.
 */
function parseConfig(parameters: JsonObject, at: string, settings: JsonObject): WebSearchConfig {
  const checked = searchParameters(parameters, `${at}.parameters`)
  const account = accountFor(searchDesk(settings), parameters.engine ?? undefined, { at: `${at}.parameters.engine`, of: `${at}.type` })
  return { ...checked, account }
}

/** The searches of one request: counted, paid, and cited in the answer. */
class SearchSession implements ToolSession {
  readonly bound: number
  readonly tap = new Citations()
  private readonly config: WebSearchConfig
  private uses = 0
  /** Results given so far, and those that running searches may still give. */
  private results = 0

  constructor(config: WebSearchConfig) {
    this.config = config
    this.bound = config.maxUses * config.account.price
  }

  async run({ query }: JsonObject, host: Host, signal: AbortSignal): Promise<ToolOutcome> {
    const { account, scope, maxUses, maxTotal } = this.config
    const text = typeof query === 'string' ? query.trim() : ''
    if (text === '') return failure(text, 'invalid_tool_input', 'the argument query is missing, expected a text to search for')
    if (this.uses >= maxUses)
      return failure(text, 'max_uses_exceeded', `the limit of ${maxUses} searches is reached: answer with what has been found`)
    const count = Math.min(scope.count, maxTotal - this.results)
    if (count <= 0)
      return failure(text, 'max_uses_exceeded', `the limit of ${maxTotal} results is reached: answer with what has been found`)
    // Calls of one turn run side by side: what one may use is taken before it waits.
    this.uses++
    this.results += count
    try {
      const results = await searchWeb(account, { ...scope, count, text }, { clock: host.clock, signal })
      this.results += results.length - count
      this.tap.add(results)
      return {
        output: JSON.stringify({ query: text, results }),
        item: { action: { type: 'search', query: text, sources: results.map(({ url }) => ({ type: 'url', url })) } },
        status: 'completed',
        cost: account.price,
        searches: 1,
        found: { engine: account.engine.name, results: results.length },
      }
    } catch (cause) {
      this.results -= count
      return { ...failure(text, 'unavailable', 'the search engine did not answer'), cause }
    }
  }
}

/**
 * The wire's word for a tool that has not done its work is `incomplete`.
 * @param code as the messages format names such errors.
 */
function failure(query: string, code: string, error: string): ToolOutcome {
  return {
    output: JSON.stringify({ error_code: code, error }),
    item: { status: 'incomplete', action: { type: 'search', query } },
    status: 'failed',
  }
}

export const webSearch: SessionTool = {
  name: 'web_search',
  description:
    'Searches the web and returns addresses, titles and excerpts of pages. Use it for what may have changed lately or what you are not sure of. Name the pages that you rely on as markdown links.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'What to search for, in a few words.' } },
    required: ['query'],
    additionalProperties: false,
  },
  plugin: 'web',
  ready: hasEngines,

  begin(parameters: JsonObject, at: string, settings: JsonObject): SearchSession {
    return new SearchSession(parseConfig(parameters, at, settings))
  },
}
