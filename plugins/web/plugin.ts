/** Searches the web with the last words of the user before the model answers, and cites what was found. */
import { type Host, type Item, type Planned, type Plugin, type Resolved, searchWeb, type Tap } from '../../src/plugin-api/index.ts'
import { parseConfig, type WebConfig } from './config.ts'
import { resultsText } from './results-text.ts'

const ID = 'web'
/** The name of its stage (docs/contract.md#router-metadata). */
const STAGE = 'web-search'

export const web: Plugin<WebConfig> = {
  id: ID,
  stage: STAGE,
  // An answer without a search is still an answer; the stage says that there was none.
  onError: 'skip',
  timeout: 15_000,
  reserved: ['engines', 'price'],
  remote: true,
  parse: parseConfig,
  bound,
  shape,
  preview: searchedByProvider,
  tap,
}

/** True where the provider of the model searches by itself. @throws Fault 400 where nothing can search. */
function isNative(exchange: Resolved, { way, account, native, refuse }: WebConfig): boolean {
  if (way === 'engine') return false
  const searchers = exchange.searchers(native)
  // Where only some providers can search, an engine does if there is one, so that every endpoint stays to fall back on.
  if (searchers === 'all' || (searchers === 'some' && !account)) return true
  return account ? false : refuse(exchange.models.map(({ slug }) => slug).join(', '))
}

function bound(exchange: Resolved, config: WebConfig): number {
  if (!config.enabled || isNative(exchange, config)) return 0
  return config.account && lastQuestion(exchange) ? config.account.price : 0
}

/** Leaves the search to the provider where it is to have it. */
function searchedByProvider(exchange: Resolved, config: WebConfig): boolean {
  if (!config.enabled || !isNative(exchange, config) || !exchange.searchNatively(config.native)) return false
  exchange.stages.push({ type: 'plugin', name: STAGE, summary: 'The provider searches the web', data: { engine: 'native' } })
  return true
}

async function shape(exchange: Resolved, config: WebConfig, host: Host): Promise<void> {
  const { account, scope, prompt, citations } = config
  if (!config.enabled || searchedByProvider(exchange, config)) return
  const question = lastQuestion(exchange)
  if (!account || !question) return
  const options = { clock: host.clock, signal: exchange.cancel.signal }
  const results = await searchWeb(account, { ...scope, text: question.text }, options)
  exchange.charge(account.price, 'search')
  citations.add(results)
  exchange.stages.push({
    type: 'plugin',
    name: STAGE,
    summary: `Searched the web with ${account.engine.name}: ${results.length} results`,
    data: { engine: account.engine.name, results: results.length },
  })
  if (results.length === 0) return
  const found = resultsText(results, prompt, host.clock.now())
  exchange.edit(ID, (draft) => {
    draft.items = draft.items.map((item, i) => (i === question.at ? withText(item, found) : item))
  })
}

function tap(_exchange: Planned, { citations }: WebConfig): Tap | undefined {
  return citations.empty ? undefined : citations
}

/** The last words of the user, and where they stand; undefined where there are none, as in a turn that brings tool results. */
function lastQuestion(exchange: Resolved): { at: number; text: string } | undefined {
  const { items } = exchange.request()
  const at = items.findLastIndex((item) => item.kind === 'message' && item.role === 'user')
  const item = items[at]
  if (item?.kind !== 'message') return undefined
  const text = item.parts
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('\n')
    .trim()
  return text === '' ? undefined : { at, text: text.slice(-MAX_CHARACTERS) }
}

/** The question stands at the end of long messages. */
const MAX_CHARACTERS = 2000

/** Results are no instructions: they stand with the user's words, in front of them. */
function withText(item: Item, text: string): Item {
  return item.kind === 'message' ? { ...item, parts: [{ kind: 'text', text }, ...item.parts] } : item
}
