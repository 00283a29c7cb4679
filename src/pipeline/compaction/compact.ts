/**
 * Compaction: a request for it becomes a request for a summary, in whatever format its provider speaks, and the caller gets the summary
 * as an item that only this gateway can open. Providers that do it themselves are left to it where the operator says so. Items of the
 * gateway's own are opened before anything else reads a request: they count, and are read, as what they say.
 */
import { badField, Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ClientCompaction, CompactionFacts, CompactionItem } from '../../dialects/canon/compaction.ts'
import type { EndReason, StreamEvent } from '../../dialects/canon/events.ts'
import { accountLetters, ownReasoning } from '../../dialects/canon/reasoning-owner.ts'
import type { CanonicalRequest, Item, Opaque, ToolSpec } from '../../dialects/canon/request.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { EncryptedTexts, Unopened } from '../../services/compaction/encrypted-texts.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { type Authenticated, type Guarded, narrow } from '../exchange.ts'
import type { Layer, Reply, Service } from '../layer.ts'

/** Stands in front of each summary. It never changes, so that a provider's cache holds from one turn to the next. */
const PREFACE =
  'The conversation up to here was replaced by the summary below. A model that had read all of it wrote the summary, so that you can go on without the rest. What it reports as done is done.\n\n'

const REASONS: Readonly<Record<Unopened, string>> = {
  version: 'this compaction item was made by another version of the gateway',
  key: 'this compaction item was made with a key that the gateway no longer has',
  tag: 'this compaction item cannot be opened: it was made for another API key, or has been changed',
}

interface FoundItems {
  readonly body: JsonObject
  readonly facts: CompactionFacts
}

/**
 * @returns the body with a message in the place of each item that this gateway made, and the items that are left.
 * @throws Fault 400 naming the item that cannot be opened, 503 where no key can be read.
 */
export async function openItems(
  { auth: { key }, head: { connection } }: Authenticated,
  { body, facts }: FoundItems,
  { withTexts }: ClientCompaction,
  summaries: EncryptedTexts,
): Promise<FoundItems> {
  const own = facts.items.filter(({ encrypted }) => summaries.isOwn(encrypted))
  if (own.length === 0) return { body, facts }
  await summaries.prepare(own.map(({ encrypted }) => encrypted))
  const texts = new Map(own.map((item) => [item.index, PREFACE + opened(item, key.identity, summaries)]))
  let bytes = 0
  for (const text of texts.values()) bytes += Buffer.byteLength(text)
  await connection.reserve?.(bytes)
  return { body: withTexts(body, texts), facts: { ...facts, items: facts.items.filter((item) => !texts.has(item.index)) } }
}

function opened({ path, encrypted }: CompactionItem, owner: string, summaries: EncryptedTexts): string {
  const result = summaries.decrypt(encrypted, owner)
  if ('unopened' in result) throw badField(path, REASONS[result.unopened])
  return result.text
}

/** The last message of the request. The conversation before it stays as it was in every turn, so that the provider's cache is read. */
const ASSIGNMENT = `Write a summary of the whole conversation above. Another model will go on with the work and will see your summary in place of the conversation, so whatever you leave out is lost. State:
- what the user wants: every request, rule and preference that still holds, in the user's own words where they matter;
- what has been done and what was decided, each with its reason;
- how things stand now: files, commands, results and errors, with the exact names, paths, numbers and identifiers that are still needed;
- what is left to do, in order, and what was being done last.
Write it as plain text. Do not call tools, do not go on with the work, and do not mention this message.`

type CompactDependencies = Pick<ChainDependencies, 'upstreams' | 'summaries'>

/** For requests that have something to compact, or items of a compaction. @param isPlan true where nothing is called, so that no summary comes. */
export function compactLayer(dependencies: CompactDependencies, isPlan: boolean): Layer<Guarded> {
  return (next) =>
    function handle(exchange) {
      const { compaction: facts, client } = exchange.request
      if (!facts || !client.compaction) return next(exchange)
      const routed = facts.items.length > 0 ? narrow(exchange, findReaders(exchange, facts.items, dependencies)) : exchange
      if (!facts.isRequested) return next(routed)
      const native = routed.route.endpoints.filter(({ provider, quirks = provider.quirks }) => quirks.compaction === 'native')
      if (native.length > 0) return next(leftToProvider(narrow(routed, native), client.compaction))
      requestSummary(routed)
      return isPlan ? next(routed) : summarised(routed, next, client.compaction, dependencies)
    }
}

/** The reply of the operation has another form than the provider's. */
function leftToProvider(exchange: Guarded, { isOperation }: ClientCompaction): Guarded {
  if (isOperation) exchange.request.edit('compact', () => {})
  return exchange
}

/**
 * The endpoints that can read items which a provider made: those of its wire, and of the account where that is known.
 * @throws Fault 400 where there is none: without its item the conversation would go on from nothing.
 */
function findReaders(
  { route, request: { client }, demand }: Guarded,
  items: readonly CompactionItem[],
  { upstreams }: CompactDependencies,
): readonly Endpoint[] {
  const reads = (endpoint: Endpoint, { encrypted }: CompactionItem): boolean => {
    const dialect = upstreams.get(endpoint.provider.dialect)
    if (dialect?.wire !== client.id) return false
    const account = dialect.bindsReasoning?.(endpoint.quirks ?? endpoint.provider.quirks) ? accountLetters(endpoint.provider) : undefined
    return ownReasoning(encrypted, account) !== undefined
  }
  const readers = route.endpoints.filter((endpoint) => items.every((item) => reads(endpoint, item)))
  if (readers.length > 0) return readers
  const unread = items.find((item) => !route.endpoints.some((endpoint) => reads(endpoint, item))) ?? items[0]
  throw badField(
    unread?.path ?? 'input',
    `this compaction item was made at a provider, and only the account that made it can read it: no endpoint of ${demand.requested} belongs to it`,
  )
}

async function summarised(
  exchange: Guarded,
  next: Service<Guarded>,
  { isOperation, item }: ClientCompaction,
  { summaries }: CompactDependencies,
): Promise<Reply> {
  await summaries.prepare()
  const { identity } = exchange.auth.key
  let tap: SummaryTap | undefined
  exchange.run.lastTap = () => {
    tap = new SummaryTap((summary) => item(summaries.encrypt(summary, identity), exchange.run.ctx))
    return tap
  }
  const reply = await next(exchange)
  const { turn } = reply
  if (tap?.isWritten || turn.aborted || turn.fault || turn.refused) return reply
  return unwritten(reply, isOperation)
}

function requestSummary(exchange: Guarded): void {
  const { request } = exchange
  const assignment: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: ASSIGNMENT }] }
  const { tools } = request.body
  // The loop of server tools looks for them there.
  if (Array.isArray(tools))
    request.replaceBody({ ...request.body, tools: tools.filter((tool) => !isObject(tool) || !String(tool.type).includes(':')) })
  const isCallers = (tool: ToolSpec): boolean =>
    tool.kind === 'function' || (tool.kind === 'opaque' && request.client.clientTools?.has(tool.of) === true)
  request.edit('compact', (draft) => {
    draft.tools = draft.tools.filter(isCallers)
    shapeDraft(draft, assignment)
  })
  // It is ours: guardrails read what callers, tools and plugins say.
  exchange.guard.read?.items.add(assignment)
}

/** Tools stay, for the provider's cache and for the calls in the conversation; none of them may be called. */
function shapeDraft(draft: CanonicalRequest, assignment: Item): void {
  draft.items = draft.items.filter((item) => item.kind !== 'opaque' || item.of.type !== 'compaction_trigger')
  draft.items.push(assignment)
  draft.toolChoice = draft.tools.length > 0 ? { mode: 'none' } : undefined
  const { stop: _stop, logprobs: _logprobs, topLogprobs: _top, ...sampling } = draft.sampling
  draft.sampling = sampling
  delete draft.format
  delete draft.verbosity
  delete draft.modalities
}

/** The model has not written a whole summary. What it did is paid for, as with an answer that a guardrail refuses. */
function unwritten(reply: Reply, isOperation: boolean): Reply {
  const { turn } = reply
  const reason = turn.end?.reason
  // The caller's format says so by itself.
  if (!isOperation && (reason === 'length' || reason === 'content_filter')) return reply
  const fault =
    reason === 'length'
      ? badField('max_output_tokens', 'the model reached its output cap before its summary was complete')
      : new Fault('upstream_empty', { message: 'The model wrote no summary of the conversation' })
  turn.refused = fault
  return { ...reply, finish: (final) => reply.finish({ ...final, end: { reason: 'error' }, fault }) }
}

/** Ends after which the text is whole. A model that calls something although it may not has written what it wanted to write. */
const WHOLE: ReadonlySet<EndReason> = new Set(['stop', 'tool_calls'])

class SummaryTap implements Tap {
  readonly mode = 'mutate'
  /** True once the item has gone out. */
  isWritten = false
  private readonly item: (summary: string) => Opaque
  private summary = ''
  private readonly texts = new Set<number>()
  /** The first block of the answer; the item gets its number. */
  private block: number | undefined

  constructor(item: (summary: string) => Opaque) {
    this.item = item
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    switch (event.type) {
      case 'block-start':
        this.block ??= event.block
        if (event.kind === 'text') this.texts.add(event.block)
        return
      case 'block-delta':
        if (this.texts.has(event.block)) this.summary += event.text
        return
      case 'block-note':
      case 'block-end':
      case 'opaque':
        return
      case 'end':
        if (!event.paused && WHOLE.has(event.reason)) this.write(emit)
    }
    emit(event)
  }

  private write(emit: (event: StreamEvent) => void): void {
    const { block } = this
    if (block === undefined || this.isWritten || this.summary.trim() === '') return
    this.isWritten = true
    emit({ type: 'block-start', block, kind: 'opaque', of: this.item(this.summary) })
    emit({ type: 'block-end', block })
  }
}
