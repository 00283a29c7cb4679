/** What each model was used for in the last week, from this gateway's own ledger: the figures behind the orders by use. */
import type { Clock } from '../core/clock.ts'
import { factsOf } from '../ledger/facts.ts'
import type { GenerationRecord, LedgerReader } from '../ledger/types.ts'

export interface Use {
  /** Requests that brought an answer. */
  requests: number
  /** Of input and output together. */
  tokens: number
}

/** By slug. */
export type ModelUse = ReadonlyMap<string, Readonly<Use>>

const DAY_MS = 86_400_000
const DAYS = 7
/** How long the figures of the running day are good for. */
const FRESH_MS = 300_000
/** Records after which requests get their turn: the walk may be long. */
const BREATH = 500

interface Day {
  readonly use: Map<string, Use>
  /** Milliseconds since the epoch; a day that was over when it was walked stays as it is. */
  readonly goodUntil: number
}

/** The running day and the six before it (UTC). A day that is over is read from the ledger once. */
export class WeekOfUse {
  private readonly ledger: Pick<LedgerReader, 'export'>
  private readonly clock: Pick<Clock, 'now'>
  private readonly days = new Map<number, Day>()
  private walking: Promise<void> | undefined

  constructor(ledger: Pick<LedgerReader, 'export'>, clock: Pick<Clock, 'now'>) {
    this.ledger = ledger
    this.clock = clock
  }

  /** Whoever asks while the ledger is being read gets what that brings. Rejects where it cannot be read. */
  async figures(): Promise<ModelUse> {
    const today = startOfDay(this.clock.now())
    const oldest = today - (DAYS - 1) * DAY_MS
    for (const day of this.days.keys()) if (day < oldest) this.days.delete(day)
    const from = this.firstUnknown(oldest, today)
    if (from !== undefined) {
      this.walking ??= this.walk(from, today).finally(() => {
        this.walking = undefined
      })
      await this.walking
    }
    const sum = new Map<string, Use>()
    for (const { use } of this.days.values()) for (const [slug, { requests, tokens }] of use) add(sum, slug, { requests, tokens })
    return sum
  }

  private firstUnknown(oldest: number, today: number): number | undefined {
    for (let day = oldest; day <= today; day += DAY_MS) {
      const known = this.days.get(day)
      if (!known || known.goodUntil <= this.clock.now()) return day
    }
    return undefined
  }

  private async walk(from: number, today: number): Promise<void> {
    const found = new Map<number, Map<string, Use>>()
    for (let day = from; day <= today; day += DAY_MS) found.set(day, new Map())
    let walked = 0
    for await (const record of this.ledger.export(from)) {
      const use = found.get(startOfDay(record.at))
      if (use) count(use, record)
      if (++walked % BREATH === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    for (const [day, use] of found)
      this.days.set(day, { use, goodUntil: day < today ? Number.POSITIVE_INFINITY : this.clock.now() + FRESH_MS })
  }
}

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS

function count(use: Map<string, Use>, { hold, settled }: GenerationRecord): void {
  if (!settled || settled.status === 'failed' || settled.status === 'unknown') return
  const { model } = factsOf(settled)
  add(use, typeof model === 'string' && model !== '' ? model : hold.model, { requests: 1, tokens: settled.input + settled.output })
}

function add(use: Map<string, Use>, slug: string, { requests, tokens }: Use): void {
  const sum = use.get(slug)
  if (sum) {
    sum.requests += requests
    sum.tokens += tokens
  } else use.set(slug, { requests, tokens })
}
