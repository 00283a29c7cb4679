/** The simulated providers: an upstream dialect that answers on the virtual clock, and the record of every call. */

import type { Clock, Timer } from '../../src/core/clock.ts'
import { Fault, type FaultCode } from '../../src/core/faults.ts'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import type { CanonicalRequest } from '../../src/dialects/canon/request.ts'
import { noUsage } from '../../src/dialects/canon/usage.ts'
import type { LocalRun, LocalSink } from '../../src/dialects/local-run.ts'
import { simUpstream } from '../../src/dialects/sim/index.ts'
import type { Target, UpstreamDialect } from '../../src/dialects/types.ts'
import { type Chance, jitter } from './chance.ts'
import { MINUTE, type ModelSlug, PROVIDERS, type ProviderName, paceAt } from './market.ts'
import { requestNumber } from './traffic.ts'
import type { Limited, Trouble } from './troubles.ts'

/** One upstream call as the provider saw it; times in virtual milliseconds. */
export interface Call {
  readonly provider: ProviderName
  readonly model: ModelSlug
  /** Number of the client's request. */
  readonly request: number
  readonly at: number
  /** When it gave its caller something to pass on: the first token of a stream, all of an answer at once. */
  contentAt: number
  outcome: 'pending' | 'ok' | FaultCode
  /** True where the provider had asked for a pause before this call, and the pause was not over. */
  readonly unwelcome: boolean
}

/** Outcome of one call at a provider. */
type Plan = { fails: Fault; afterMs: number } | { firstMs: number; restMs: number; tokens: number }

const MEAN_TOKENS = 60
const QUICK_REFUSAL_MS = 40

export class Providers {
  readonly calls: Call[] = []
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly troubles: ReadonlyMap<ProviderName, readonly Trouble[]>
  private readonly windows = new Map<string, { until: number; calls: number }>()
  /** Until when each endpoint has asked to be left alone: the announcement has reached the gateway. */
  private readonly pauses = new Map<string, number>()

  constructor(clock: Clock, chance: Chance, troubles: readonly Trouble[]) {
    this.clock = clock
    this.chance = chance
    this.troubles = new Map(PROVIDERS.map((name) => [name, troubles.filter((trouble) => trouble.provider === name)]))
  }

  /** The dialect of all five; which one is meant stands in the name of the model. */
  dialect(): UpstreamDialect {
    return {
      ...simUpstream,
      encodeRequest: () => ({ path: '', body: {}, dropped: [] }),
      run: (request, target, _clock, sink) => this.answer(request, target, sink),
    }
  }

  private answer(request: CanonicalRequest, target: Target, sink: LocalSink): LocalRun {
    const [name, model] = target.model.split(':')
    const provider = PROVIDERS.find((one) => one === name)
    if (provider === undefined) throw new Error(`no simulated provider ${name}`)
    const at = this.clock.monotonic()
    const call: Call = {
      provider,
      model: model as ModelSlug,
      request: requestNumber(request),
      at,
      contentAt: 0,
      outcome: 'pending',
      unwelcome: at < (this.pauses.get(target.model) ?? 0),
    }
    this.calls.push(call)
    const plan = this.callPlan(call)
    if ('fails' in plan) return this.failing(call, plan, sink)
    return this.serving(call, plan, { sink, stream: target.stream })
  }

  private failing(call: Call, { fails, afterMs }: { fails: Fault; afterMs: number }, sink: LocalSink): LocalRun {
    const run = new TimedRun()
    run.timer = this.clock.after(afterMs, () => {
      call.outcome = fails.code
      if (fails.retryAfter !== undefined)
        this.pauses.set(`${call.provider}:${call.model}`, this.clock.monotonic() + fails.retryAfter * 1000)
      sink.fail(fails)
    })
    return run
  }

  private serving(
    call: Call,
    { firstMs, restMs, tokens }: { firstMs: number; restMs: number; tokens: number },
    to: { sink: LocalSink; stream: boolean },
  ): LocalRun {
    const run = new TimedRun()
    const finish = (): void => {
      if (!to.stream) call.contentAt = this.clock.monotonic()
      call.outcome = 'ok'
      to.sink.events(ending(tokens))
      to.sink.end()
    }
    run.timer = this.clock.after(firstMs, () => {
      if (to.stream) call.contentAt = this.clock.monotonic()
      run.timer = this.clock.after(restMs, finish)
      to.sink.events(OPENING)
    })
    return run
  }

  private callPlan(call: Call): Plan {
    const { provider, at } = call
    const minute = at / MINUTE
    const pace = paceAt(provider, minute)
    let slower = 1
    for (const trouble of this.troubles.get(provider) ?? []) {
      if (minute < trouble.from || minute >= trouble.to) continue
      if (trouble.kind === 'slow') slower *= trouble.factor
      else if (trouble.kind === 'failing') {
        if (this.chance() < trouble.share) return { fails: new Fault(trouble.code), afterMs: trouble.afterMs * jitter(this.chance, 0.2) }
      } else {
        const left = this.overLimit(trouble, call)
        if (left > 0) return { fails: new Fault('upstream_limited', { retryAfter: Math.ceil(left / 1000) }), afterMs: QUICK_REFUSAL_MS }
      }
    }
    const tokens = Math.ceil(-Math.log(1 - this.chance()) * MEAN_TOKENS)
    return {
      firstMs: pace.firstTokenMs * slower * jitter(this.chance, 0.3),
      restMs: ((tokens * 1000) / pace.tokensPerSecond) * slower,
      tokens,
    }
  }

  /** @returns milliseconds until the provider takes calls again; 0 where it takes this one. */
  private overLimit({ calls, windowMs }: Limited, { provider, model, at }: Call): number {
    const endpoint = `${provider}:${model}`
    let window = this.windows.get(endpoint)
    if (window === undefined || at >= window.until) {
      window = { until: at + windowMs, calls: 0 }
      this.windows.set(endpoint, window)
    }
    window.calls++
    return window.calls > calls ? window.until - at : 0
  }
}

/** Nobody in the simulation reads slowly, so nothing has to pause. */
class TimedRun implements LocalRun {
  timer: Timer | undefined
  pause(): void {}
  resume(): void {}
  abort(): void {
    this.timer?.cancel()
  }
}

const OPENING: readonly StreamEvent[] = [
  { type: 'start' },
  { type: 'block-start', block: 0, kind: 'text' },
  { type: 'block-delta', block: 0, text: 'An answer' },
]

function ending(tokens: number): StreamEvent[] {
  return [
    { type: 'block-delta', block: 0, text: ' that ends.' },
    { type: 'block-end', block: 0 },
    { type: 'usage', usage: { ...noUsage(), input: 12, output: tokens } },
    { type: 'end', reason: 'stop' },
  ]
}
