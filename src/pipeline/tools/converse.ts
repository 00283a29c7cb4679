/** The server-tool loop: the model calls, the gateway runs, the model goes on; one outgoing stream however many turns. */

import { badField, Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Accepted, Guarded } from '../exchange.ts'
import type { Layer, Reply, Service } from '../layer.ts'
import { extendHold, extendUnwritten } from '../money/extend-hold.ts'
import { concludeTurn } from '../money/reservation.ts'
import { countTurn } from '../money/turn-count.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { endedEarly } from '../reply/last-word.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import type { EventSink } from '../run.ts'
import { resumed } from './resumed-calls.ts'
import { type Offer, offerTools } from './server-tools.ts'
import { shouldStop } from './stop-conditions.ts'
import { type HostOf, hostsOf, toolContext } from './tool-host.ts'
import { appendTurn, runCalls } from './tool-turn.ts'

/** Contract section 6: default and maximum of `max_tool_calls`. */
const MOST_STEPS = 30

export function converse(settings: LoopSettings, parts: ChainParts, inner: Service<Accepted>): Layer<Guarded> {
  return layerOf(settings, parts, { inner, hold: (exchange, bound) => extendHold('tools', exchange, bound, parts), resumes: true })
}

/** In a plan: what the tools may cost is reserved until the plan is made. */
export function converseForPlan(settings: LoopSettings, parts: ChainParts, inner: Service<Accepted>): Layer<Guarded> {
  const hold = (exchange: Guarded, bound: number): Promise<void> => extendUnwritten('tools', exchange, bound, parts.credit)
  return layerOf(settings, parts, { inner, hold, resumes: false })
}

type LoopSettings = Pick<ChainSettings, 'plugins' | 'catalog'>
type LoopParts = Pick<ChainParts, 'tools' | 'host' | 'toolDialect' | 'pluginTrouble'>

interface Ways {
  /** The way of a call that a tool makes of a model, from the choice of models on. */
  inner: Service<Accepted>
  hold: (exchange: Guarded, bound: number) => Promise<void>
  /** False where calls of earlier replies are not to go on. */
  resumes: boolean
}

function layerOf({ plugins, catalog }: LoopSettings, parts: LoopParts, { inner, hold, resumes }: Ways): Layer<Guarded> {
  const defaults = new Map(plugins.map((setting) => [setting.plugin.id, setting.defaults]))
  const settings = (id: string): JsonObject => defaults.get(id) ?? {}
  return (next) => {
    return function conversed(exchange) {
      return namesServerTools(exchange) ? conversation(exchange) : next(exchange)
    }

    async function conversation(exchange: Guarded): Promise<Reply> {
      // Silence counts from here: listing the tools of servers and resuming calls may take long.
      if (resumes && exchange.request.stream)
        exchange.run.reply ??= new ReplyStream(exchange, { 'X-Generation-Id': exchange.head.id }, exchange.run.silence)
      const context = toolContext(exchange, catalog, !resumes)
      const offer = await offerTools(exchange, { tools: parts.tools, settings, context })
      try {
        exchange.run.taps.push(...offer.taps)
        if (offer.bound > 0) await hold(exchange, offer.bound)
        return await loop(
          exchange,
          next,
          { offer, hostOf: hostsOf(exchange, context, { inner, host: parts.host, dialect: parts.toolDialect }) },
          { pluginTrouble: parts.pluginTrouble, resumes },
        )
      } finally {
        offer.close()
      }
    }
  }
}

interface Running {
  offer: Offer
  hostOf: HostOf
}

async function loop(
  exchange: Guarded,
  next: Service<Guarded>,
  { offer, hostOf }: Running,
  { pluginTrouble, resumes }: Pick<LoopParts, 'pluginTrouble'> & Pick<Ways, 'resumes'>,
): Promise<Reply> {
  const { stopWhen, maxToolCalls } = exchange.request.gateway
  if (maxToolCalls !== undefined && maxToolCalls < 0) throw badField('max_tool_calls', 'must not be negative')
  const budget = stopWhen ? Number.POSITIVE_INFINITY : Math.min(maxToolCalls ?? MOST_STEPS, MOST_STEPS)
  const failed = (tool: string, cause: unknown): void => pluginTrouble(exchange, { plugin: tool, trouble: 'error', skipped: true, cause })
  let steps = 0
  if (resumes && offer.resumes.length > 0) {
    const outputs = await runCalls(exchange, offer.resumes, { offer, hostOf, left: budget, failed })
    if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
    steps += outputs.length
    const reply = await resumed(exchange, outputs)
    if (reply) return reply
  }
  if (steps >= budget) offer.withdraw()
  for (;;) {
    const reply = await next(exchange)
    const {
      run: { path },
    } = exchange
    if (reply.turn.aborted || reply.turn.fault || reply.turn.refused || !path || path.calls.length === 0) return reply
    const { calls } = path
    countTurn(exchange, reply.turn)
    // Calls of models that tools make are held from what the turn leaves over.
    const concluding = concludeTurn(exchange)
    if (concluding) await concluding
    const clientCalls = path.turn?.result.blocks.some((block) => block.kind === 'call' && block.call && !offer.has(block.call.name))
    const outputs = await shown(exchange, path, () => runCalls(exchange, calls, { offer, hostOf, left: budget - steps, failed }))
    if (!outputs) return refusedBy(reply, path)
    steps += calls.length
    // The deadline may have passed while the tools ran; a caller who has left reads nothing.
    if (exchange.head.cancel.reason instanceof Fault && exchange.head.cancel.reason.code === 'deadline') throw exchange.head.cancel.reason
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
