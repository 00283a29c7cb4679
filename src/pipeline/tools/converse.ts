/** The server-tool loop: the model calls, the gateway runs, the model goes on; one outgoing stream however many turns. */
import { badField, Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { nativeSearchIn } from '../../dialects/canon/native-search.ts'
import type { Item } from '../../dialects/canon/request.ts'
import type { StopCondition } from '../../dialects/canon/request-fields.ts'
import { charge } from '../../ledger/pricing.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ChainDependencies, ChainSettings } from '../dependencies.ts'
import { type Accepted, type Guarded, narrow } from '../exchange.ts'
import type { Layer, Reply, Service } from '../layer.ts'
import { extendHold, extendUnwritten } from '../money/fixed-hold.ts'
import { turnTariff } from '../money/tariffs.ts'
import { chargedExtras, concludeTurn } from '../money/turn-cost.ts'
import { countTurn } from '../money/turn-usage.ts'
import type { EventSink } from '../records.ts'
import { EventPath } from '../reply/event-path.ts'
import { endedEarly } from '../reply/final-fault.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import { type Offer, offerTools } from './server-tools.ts'
import { createHosts, type HostFinder, toolContext } from './tool-host.ts'
import { appendTurn, type CallOutput, runCalls } from './tool-turn.ts'

/** The default and the maximum of `max_tool_calls` (docs/contract.md#server-tools). */
const MAX_STEPS = 30

export function converseLayer(settings: LoopSettings, dependencies: ChainDependencies, inner: Service<Accepted>): Layer<Guarded> {
  return loopLayer(settings, dependencies, {
    inner,
    hold: (exchange, bound) => extendHold('tools', exchange, bound, dependencies),
    resumes: true,
  })
}

/** In a plan: what the tools may cost is reserved until the plan is made. */
export function converseForPlan(settings: LoopSettings, dependencies: ChainDependencies, inner: Service<Accepted>): Layer<Guarded> {
  const hold = (exchange: Guarded, bound: number): Promise<void> => extendUnwritten('tools', exchange, bound, dependencies.credit)
  return loopLayer(settings, dependencies, { inner, hold, resumes: false })
}

type LoopSettings = Pick<ChainSettings, 'plugins' | 'catalog'>
type LoopDependencies = Pick<ChainDependencies, 'tools' | 'host' | 'toolDialect' | 'pluginFailure'>

interface Ways {
  /** The way of a call that a tool makes of a model, from the choice of models on. */
  inner: Service<Accepted>
  hold: (exchange: Guarded, bound: number) => Promise<void>
  /** False where calls of earlier replies are not to go on. */
  resumes: boolean
}

function loopLayer({ plugins, catalog }: LoopSettings, dependencies: LoopDependencies, { inner, hold, resumes }: Ways): Layer<Guarded> {
  const defaults = new Map(plugins.map((setting) => [setting.plugin.id, setting.defaults]))
  const settings = (id: string): JsonObject => defaults.get(id) ?? {}
  return (next) => {
    return function handle(exchange) {
      exchange.run.mayPause = mayPause(exchange)
      if (namesServerTools(exchange)) return conversation(exchange)
      return exchange.run.mayPause ? wholeTurn(exchange, next) : next(exchange)
    }

    async function conversation(exchange: Guarded): Promise<Reply> {
      // Silence counts from here: listing the tools of servers and resuming calls may take long.
      if (resumes && exchange.request.stream) exchange.run.reply ??= new ReplyStream(exchange)
      const context = toolContext(exchange, catalog, !resumes)
      const offer = await offerTools(exchange, { tools: dependencies.tools, settings, context })
      try {
        exchange.run.taps.push(...offer.taps)
        if (offer.bound > 0) await hold(exchange, offer.bound)
        return await loop(
          exchange,
          next,
          { offer, findHost: createHosts(exchange, context, { inner, host: dependencies.host, dialect: dependencies.toolDialect }) },
          { pluginFailure: dependencies.pluginFailure, resumes },
        )
      } finally {
        offer.close()
      }
    }
  }
}

interface Running {
  offer: Offer
  findHost: HostFinder
}

async function loop(
  exchange: Guarded,
  next: Service<Guarded>,
  { offer, findHost }: Running,
  { pluginFailure, resumes }: Pick<LoopDependencies, 'pluginFailure'> & Pick<Ways, 'resumes'>,
): Promise<Reply> {
  const { stopWhen, maxToolCalls } = exchange.request.gateway
  if (maxToolCalls !== undefined && maxToolCalls < 0) throw badField('max_tool_calls', 'must not be negative')
  const budget = stopWhen ? Number.POSITIVE_INFINITY : Math.min(maxToolCalls ?? MAX_STEPS, MAX_STEPS)
  const failed = (tool: string, cause: unknown): void => pluginFailure(exchange, { plugin: tool, reason: 'error', skipped: true, cause })
  let steps = 0
  if (resumes && offer.resumes.length > 0) {
    const outputs = await runCalls(exchange, offer.resumes, { offer, findHost, left: budget, failed })
    if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
    steps += outputs.length
    const reply = await resumed(exchange, outputs)
    if (reply) return reply
  }
  if (steps >= budget) offer.withdraw()
  for (;;) {
    const reply = await wholeTurn(exchange, next)
    const {
      run: { path },
    } = exchange
    if (reply.turn.aborted || reply.turn.fault || reply.turn.refused || !path || path.calls.length === 0) return reply
    // Nothing is known of how whole its calls are.
    if (reply.turn.end?.reason === 'unknown') return reply
    const { calls } = path
    countTurn(exchange, reply.turn)
    // Calls of models that tools make are held from what the turn leaves over.
    const concluding = concludeTurn(exchange)
    if (concluding) await concluding
    const clientCalls = path.turn?.result.blocks.some((block) => block.kind === 'call' && block.call && !offer.has(block.call.name))
    const outputs = await shown(exchange, path, () => runCalls(exchange, calls, { offer, findHost, left: budget - steps, failed }))
    if (!outputs) return refusedBy(reply, path)
    steps += calls.length
    // The deadline may have passed while the tools ran; a caller who has left reads nothing.
    if (exchange.head.cancel.reason?.code === 'deadline') throw exchange.head.cancel.reason
    if (clientCalls || exchange.head.cancel.aborted || outputs.some(({ outcome }) => outcome.handOver)) return reply
    appendTurn(exchange, outputs)
    const found = outputs.flatMap(({ outcome }) => outcome.offers ?? [])
    if (found.length > 0) offer.add(found)
    // The last turn is the model's, without tools: its calls have been run.
    if (steps >= budget || shouldStop(stopWhen, { exchange, steps, calls: outputs, reply })) offer.withdraw()
  }
}

/** Runs tools, whose items guardrails read as they read the answer. @returns undefined where these refuse it. */
async function shown<Outputs>(exchange: Guarded, path: EventSink, run: () => Promise<Outputs>): Promise<Outputs | undefined> {
  let fault: Fault | undefined
  path.late = {
    text: (text) => {
      if (text !== '') exchange.run.reply?.write(text, false)
    },
    fail: (thrown) => {
      fault = thrown
    },
  }
  let outputs: Outputs
  try {
    outputs = await run()
  } catch (thrown) {
    if (path.refusal) return undefined
    throw thrown
  }
  if (path.pending) await path.pending
  if (path.refusal) return undefined
  if (fault) throw fault
  return outputs
}

function refusedBy(reply: Reply, { refusal }: EventSink): Reply {
  reply.turn.refused = refusal
  reply.turn.end = { reason: 'content_filter', raw: 'content_filter' }
  return reply
}

/** A tool type with a word before a colon is the gateway's own; reading the body spares the canonical form where there is none. */
function namesServerTools(exchange: Guarded): boolean {
  const { tools } = exchange.request.body
  const named = Array.isArray(tools) && tools.some((tool) => isObject(tool) && String(tool.type).includes(':'))
  return named || (exchange.request.edited && exchange.request.canonical().tools.some((tool) => tool.kind === 'server'))
}

interface LoopState {
  exchange: Guarded
  /** Server-tool calls so far. */
  steps: number
  calls: readonly CallOutput[]
  reply: Reply
}

/** `stop_server_tools_when`: any one that fires ends the loop (docs/contract.md#server-tools). */
function shouldStop(conditions: readonly StopCondition[] | undefined, state: LoopState): boolean {
  return conditions?.some((condition) => fires(condition, state)) === true
}

function fires(condition: StopCondition, { exchange, steps, calls, reply }: LoopState): boolean {
  const {
    head: { costs },
  } = exchange
  switch (condition.type) {
    case 'step_count_is':
      return steps >= condition.step_count
    case 'has_tool_call':
      return calls.some(({ tool }) => tool === condition.tool_name || `${exchange.head.brand}:${tool}` === condition.tool_name)
    case 'max_tokens_used':
      return costs.turns.reduce((sum, { usage }) => sum + (usage ? usage.input + usage.output : 0), 0) >= condition.max_tokens
    case 'max_cost': {
      const turnCost = (turn: Turn): number =>
        turn.usage ? charge(turn.usage, turnTariff(exchange, turn), turn.extras ?? chargedExtras(exchange, turn.endpoint)).total : 0
      const nano = costs.turns.reduce((sum, turn) => sum + turnCost(turn), costs.toolCost)
      return nano >= condition.max_cost_in_dollars * 1e9
    }
    case 'finish_reason_is':
      return reply.turn.end?.reason === condition.reason
  }
}

/**
 * Calls of an earlier reply that waited for the caller: they go on before the first turn.
 * Shows their results, and adds them to the request for the next turn of the model.
 * @returns a reply where one of them waits for the caller again: there is no turn then.
 */
async function resumed(exchange: Guarded, outputs: readonly CallOutput[]): Promise<Reply | undefined> {
  exchange.run.opening = [...(exchange.run.opening ?? []), ...outputs.flatMap(({ outcome }) => outcome.shown ?? [])]
  if (outputs.some(({ outcome }) => outcome.handOver)) return await replyWithoutTurn(exchange)
  const byCall = new Map<string, CallOutput>()
  // Of two calls with one id the first counts.
  for (const output of outputs) if (!byCall.has(output.call.id)) byCall.set(output.call.id, output)
  exchange.request.edit('server-tools', (draft) => {
    draft.items = draft.items.flatMap((item) => withResult(item, byCall))
  })
  return undefined
}

/** A result stands behind its call, whatever messages the caller has added since. */
function withResult(item: Item, outputs: ReadonlyMap<string, CallOutput>): Item[] {
  const answered = item.kind === 'call' ? outputs.get(item.callId) : undefined
  if (!answered) return [item]
  const { call, outcome } = answered
  const parts = [{ kind: 'text' as const, text: outcome.output }]
  return [item, { kind: 'result', callId: call.id, parts, error: outcome.status === 'failed' }]
}

/** Replies in the name of the last turn of the tools that succeeded, since the request itself has had no turn. */
async function replyWithoutTurn(exchange: Guarded): Promise<Reply> {
  const turn = exchange.head.costs.turns.findLast(({ usage, fault, refused, aborted }) => usage && !fault && !refused && !aborted)
  if (!turn) throw new Fault('internal', { cause: new Error('a call was handed over that no turn has made') })
  exchange.run.path ??= new EventPath(exchange)
  const {
    run: { path },
  } = exchange
  let text = ''
  let fault: Fault | undefined
  path.late = {
    text: (more) => {
      text += more
    },
    fail: (thrown) => {
      fault = thrown
    },
  }
  text += path.push([]) + path.close()
  if (path.pending) await path.pending
  if (path.refusal ?? fault) throw path.refusal ?? fault
  if (exchange.request.stream) {
    exchange.run.reply ??= new ReplyStream(exchange)
    exchange.run.reply.prepare(undefined)
    exchange.run.reply.open()
    exchange.run.reply.write(text, false)
  }
  return { turn, finish: (final) => path.finish(final) }
}

/** Continuations of one turn. A provider whose loop ends after ten rounds of tools has then run a hundred. */
const MOST = 10

/** True where the request offers tools that the provider runs, and its format cannot hand a paused turn to the caller. */
function mayPause({ request }: Guarded): boolean {
  // A search that the gateway has left to the provider is none that the caller knows how to go on with.
  if (request.client.showsPauses) return request.edited && request.canonical().tools.some((tool) => nativeSearchIn(tool) !== undefined)
  if (request.edited) return request.canonical().tools.some(({ kind }) => kind === 'opaque')
  const { tools } = request.body
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && isProviders(tool.type))
}

/** A type with a colon is the gateway's own tool. */
function isProviders(type: Json | undefined): boolean {
  return typeof type === 'string' && type !== 'function' && !type.includes(':')
}

/** One turn of the model, however often its provider pauses. */
async function wholeTurn(exchange: Guarded, next: Service<Guarded>): Promise<Reply> {
  let reply = await next(exchange)
  for (let left = MOST; left > 0 && isPaused(exchange, reply); left--) {
    countTurn(exchange, reply.turn)
    const concluding = concludeTurn(exchange)
    if (concluding) await concluding
    if (exchange.head.cancel.aborted) return reply
    appendTurn(exchange, [])
    // Only the provider can read its own output so far.
    narrow(
      exchange,
      exchange.route.endpoints.filter(({ provider }) => provider === reply.turn.endpoint.provider),
    )
    reply = await next(exchange)
  }
  return reply
}

function isPaused({ run: { path, mayPause } }: Guarded, { turn: { aborted, fault, refused, end } }: Reply): boolean {
  return mayPause && end?.paused === true && !aborted && !fault && !refused && path?.turn !== undefined && path.calls.length === 0
}
