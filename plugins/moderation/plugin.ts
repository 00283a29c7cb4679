/** Has the texts of a request judged before anything else is done with them, and refuses a request that is flagged. */
import {
  buildFinding,
  Fault,
  findingData,
  findingMetadata,
  type Host,
  type Judgement,
  moderatedTexts,
  moderationMessage,
  type Plugin,
  type Resolved,
} from '../../src/plugin-api/index.ts'
import { type ModerationConfig, parseConfig } from './config.ts'

const ID = 'moderation'

export const moderation: Plugin<ModerationConfig> = {
  id: ID,
  // Nothing passes unjudged, unless the operator says so.
  onError: 'fail',
  timeout: 10_000,
  remote: true,
  // A request can ask for it, and neither shape it nor switch it off.
  reserved: ['engine', 'url', 'key', 'model', 'thresholds', 'ignored_categories', 'lexicon', 'price'],
  ignoreRequestEnabled: true,
  parse: parseConfig,
  bound: (_exchange, { moderator, price }) => (moderator ? price : 0),
  shape,
}

/** @throws Fault 403 with what was found; 503 where the moderator does not answer. */
async function shape(exchange: Resolved, { moderator, price }: ModerationConfig, host: Host): Promise<void> {
  if (!moderator) return
  const { name } = moderator
  const context = { clock: host.clock, onAbort: (fn: () => void) => exchange.cancel.onAbort(fn) }
  const texts = moderatedTexts(exchange.request())
  const judgements = await moderator.judge(texts, 'input', context).catch((cause: unknown): Judgement[] => {
    throw new Fault('unavailable', { message: 'The request could not be moderated, and nothing passes without it', cause })
  })
  exchange.charge(price, 'moderation')
  const finding = buildFinding(name, judgements)
  const data = { flagged: finding !== undefined, engines: [name], ...(finding ? { action: 'blocked', ...findingData(finding) } : {}) }
  const summary = finding ? moderationMessage(finding) : `Judged by ${name}: nothing found`
  exchange.stages.push({ type: 'guardrail', name: ID, summary, data })
  if (finding)
    throw new Fault('guardrail_blocked', { message: moderationMessage(finding), metadata: findingMetadata(finding, exchange.requested) })
}
