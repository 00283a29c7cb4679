/** Counts of the good ones among the last outcomes: counters in a ring of equal spans of time, in one fixed array. */
export class OutcomeWindow {
  private readonly spanMs: number
  private readonly spans: number
  /** Two counters for each span: good, bad. */
  private readonly counts: Uint32Array
  /** Number of the newest span since time 0. */
  private newest = 0
  private good = 0
  private bad = 0

  /** The window reaches back between `(spans - 1) * spanMs` and `spans * spanMs`. */
  constructor(spanMs: number, spans: number) {
    this.spanMs = spanMs
    this.spans = spans
    this.counts = new Uint32Array(2 * spans)
  }

  /** @param now monotonic milliseconds. */
  add(now: number, good: boolean, times = 1): void {
    this.roll(now)
    const at = 2 * (this.newest % this.spans) + (good ? 0 : 1)
    this.counts[at] = (this.counts[at] ?? 0) + times
    if (good) this.good += times
    else this.bad += times
  }

  /** Good outcomes among all, 0 to 1; undefined with fewer than `least` outcomes. */
  share(now: number, least = 1): number | undefined {
    this.roll(now)
    const all = this.good + this.bad
    return all < least ? undefined : this.good / all
  }

  /** As `share`, over the newest few spans alone. */
  recentShare(now: number, spans: number): number | undefined {
    this.roll(now)
    let good = 0
    let bad = 0
    for (let i = 0; i < Math.min(spans, this.spans, this.newest + 1); i++) {
      const at = 2 * ((this.newest - i) % this.spans)
      good += this.countAt(at)
      bad += this.countAt(at + 1)
    }
    return good + bad === 0 ? undefined : good / (good + bad)
  }

  /** As `share`, without what other windows of the same spans have counted; undefined with fewer than `least` outcomes that are left. */
  shareWithout(others: readonly OutcomeWindow[], now: number, least: number): number | undefined {
    this.roll(now)
    let [good, bad] = [this.good, this.bad]
    for (const other of others) {
      other.roll(now)
      good = Math.max(0, good - other.good)
      bad = Math.max(0, bad - other.bad)
    }
    return good + bad < least ? undefined : good / (good + bad)
  }

  failures(now: number): number {
    this.roll(now)
    return this.bad
  }

  private countAt(at: number): number {
    return this.counts[at] ?? 0
  }

  private roll(now: number): void {
    const span = Math.floor(now / this.spanMs)
    if (span <= this.newest) return
    if (span - this.newest >= this.spans || this.good + this.bad === 0) {
      if (this.good + this.bad > 0) this.counts.fill(0)
      this.good = 0
      this.bad = 0
    } else {
      for (let passed = this.newest + 1; passed <= span; passed++) {
        const at = 2 * (passed % this.spans)
        this.good -= this.countAt(at)
        this.bad -= this.countAt(at + 1)
        this.counts[at] = 0
        this.counts[at + 1] = 0
      }
    }
    this.newest = span
  }
}
