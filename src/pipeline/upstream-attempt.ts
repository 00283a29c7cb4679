/** What every attempt at an upstream answer shares: its promise, the caller's leaving, an answer that is an error. */
import type { Usage } from '../canon/usage.ts'
import type { Endpoint } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import type { Final } from '../dialects/types.ts'
import { estimateFromBytes } from '../ledger/usage-estimate.ts'
import type { DrainSlots } from './drain-slots.ts'
import type { ErrorBody, FaultSource } from './error-body.ts'
import type { Exchange } from './exchange.ts'
import type { Lane, Reply, Turn } from './reply.ts'

/** What the attempt steers: an HTTP call or a provider inside this process. */
export interface Flow {
  pause(): void
  resume(): void
  abort(): void
  alive?(): void
  /** The answer is whole: whatever may still come is worth a short wait only. */
  answered?(): void
}

export interface AttemptPlan {
  endpoint: Endpoint
  lane: Lane
  drains: DrainSlots
  decodeFault: FaultSource['decode']
}

export abstract class UpstreamAttempt<Plan extends AttemptPlan> {
  /** Rejects with a fault where nothing has reached the caller: another endpoint may be tried. */
  readonly done: Promise<Reply>
  flow: Flow | undefined
  protected readonly exchange: Exchange
  protected readonly plan: Plan
  protected over = false
  /** The caller has gone and the provider is read to its end for the usage it reports. */
  protected discarding = false
  protected error: ErrorBody | undefined
  private resolve: (reply: Reply) => void = () => {}
  private reject: (fault: Fault) => void = () => {}
  private leaveSlot: (() => void) | undefined
  private readonly takeBack: () => void

  constructor(exchange: Exchange, plan: Plan) {
    this.exchange = exchange
    this.plan = plan
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.takeBack = exchange.cancel.onAbort(() => this.cancelled())
  }

  abstract fail(fault: Fault): void
  /** The caller has gone for good: settles with what is known. */
  protected abstract gone(): void

  /** Takes a piece of an answer that is an error. @returns false where the answer is none. */
  protected tookError(chunk: Buffer): boolean {
    if (!this.error) return false
    if (!this.error.push(chunk)) this.fail(this.error.fault())
    return true
  }

  protected refuse(fault: Fault): void {
    this.close()
    this.reject(this.error?.instead(fault) ?? fault)
  }

  protected settle(facts: Omit<Turn, 'endpoint' | 'lane'>, finish: (final: Final) => string): void {
    this.close()
    const { endpoint, lane } = this.plan
    this.resolve({ turn: { endpoint, lane, ...facts }, finish })
  }

  private close(): void {
    this.over = true
    this.takeBack()
    this.leaveSlot?.()
    this.flow?.abort()
  }

  private cancelled(): void {
    if (this.over) return
    const { exchange, plan } = this
    const { reason } = exchange.cancel
    if (reason instanceof Fault && reason.code === 'deadline') {
      this.fail(reason)
      return
    }
    const late = (): void => {
      if (!this.over) this.gone()
    }
    if (plan.endpoint.provider.onAbort === 'drain') this.leaveSlot = plan.drains.take(exchange.clock, late)
    if (!this.leaveSlot) {
      this.gone()
      return
    }
    this.discarding = true
    this.flow?.resume()
  }
}

/** An answer that a guardrail refuses. Its provider is not read to the end: where that has told less than came, what came counts. */
export function refusedTurn(
  refused: Fault,
  { usage, relayed, aborted }: { usage: Usage | undefined; relayed: number; aborted: boolean },
): Omit<Turn, 'endpoint' | 'lane'> {
  const came = estimateFromBytes(relayed)
  const least = usage && usage.output < came ? { ...usage, output: came, estimated: true } : usage
  return { usage: least, end: { reason: 'content_filter', raw: 'content_filter' }, fault: undefined, refused, aborted, relayed }
}
