import { type Host, type Item, type Planned, type Plugin, type Resolved, searchWeb, type Tap } from '../../src/plugin-api/index.ts'
import { parseConfig, type WebConfig } from './config.ts'
import { resultsText } from './results-text.ts'

const ID = 'web'

export const web: Plugin<WebConfig> = {
  id: ID,
  // An answer without a search is still an answer; the stage says that there was none.
  onError: 'skip',
  timeout: 15_000,
  reserved: ['engines', 'price'],
  remote: true,
  parse: parseConfig,
  bound,
  shape,
  tap,
}

function bound(exchange: Resolved, { account }: WebConfig): number {
  return account && questionOf(exchange) ? account.price : 0
}

async function shape(exchange: Resolved, { account, scope, prompt, citations }: WebConfig, host: Host): Promise<void> {
  const question = questionOf(exchange)
  if (!account || !question) return
  const options = { clock: host.clock, signal: exchange.cancel.signal }
  const results = await searchWeb(account, { ...scope, text: question.text }, options)
  exchange.charge(account.price, 'search')
  citations.add(results)
  exchange.stages.push({
    type: 'web_search',
    name: ID,
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
function questionOf(exchange: Resolved): { at: number; text: string } | undefined {
  const { items } = exchange.request()
  const at = items.findLastIndex((item) => item.kind === 'message' && item.role === 'user')
  const item = items[at]
  if (item?.kind !== 'message') return undefined
  const text = item.parts
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('\n')
    .trim()
  return text === '' ? undefined : { at, text: text.slice(-MOST_CHARACTERS) }
}

/** The question stands at the end of long messages. */
const MOST_CHARACTERS = 2000

/** Results are no instructions: they stand with the user's words, in front of them. */
function withText(item: Item, text: string): Item {
  return item.kind === 'message' ? { ...item, parts: [{ kind: 'text', text }, ...item.parts] } : item
}
