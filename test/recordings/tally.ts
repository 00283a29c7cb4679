/** Settles the differences of each exchange against the list of known ones, and counts. */
import type { Test } from 'tap'
import { type Exchange, exchangeName } from './cassettes.ts'
import { type Difference, describe } from './compare.ts'
import { KNOWN, type Known } from './known-differences.ts'

export type Check = Known['check']

/** Differences that are shown of one exchange; one cause often shows in many places. */
const SHOWN = 6

export class Tally {
  private readonly check: Check
  private readonly counts = new Map<Known, number>()
  private readonly results = new Map<string, { passed: number; documented: number; defects: number; unexplained: number }>()

  constructor(check: Check) {
    this.check = check
  }

  private knownDifference(exchange: Exchange, client: string, { leaf }: Difference): Known | undefined {
    return KNOWN.find(
      (known) =>
        known.check === this.check &&
        (known.clients === undefined || known.clients.includes(client)) &&
        known.leaf.test(leaf) &&
        known.cassettes.test(exchangeName(exchange)),
    )
  }

  /**
   * One result for one exchange and client format: a pass where nothing differs or the documents say that it does, a `todo` where
   * all differences are known defects.
   */
  settle(t: Test, exchange: Exchange, client: string, differences: readonly Difference[]): void {
    const name = `${exchangeName(exchange)}, ${exchange.wire} → ${client}`
    const found = differences.map((difference) => ({ difference, known: this.knownDifference(exchange, client, difference) }))
    const causes = new Set(found.flatMap(({ known }) => (known ? [known] : [])))
    for (const cause of causes) this.counts.set(cause, (this.counts.get(cause) ?? 0) + 1)
    const unexplained = found.filter(({ known }) => !known).map(({ difference }) => describe(difference))
    const defect = [...causes].find(({ kind }) => kind === 'defect')
    const count = this.clientResults(client)
    if (unexplained.length > 0) {
      count.unexplained++
      t.same(unexplained.slice(0, SHOWN), [], name)
    } else if (defect) {
      count.defects++
      t.fail(name, { todo: defect.reason })
    } else {
      if (causes.size > 0) count.documented++
      else count.passed++
      t.pass(name)
    }
  }

  /** An entry of the list must still differ in as many exchanges as it says; then the figures are printed. */
  close(t: Test): void {
    const stale = KNOWN.filter(({ check }) => check === this.check).flatMap((known) => {
      const now = this.counts.get(known) ?? 0
      return now === known.count ? [] : [`${known.reason}: listed ${known.count}, found ${now}`]
    })
    t.same(stale, [], 'every known difference still differs, as often as the list says')
    process.stderr.write(`${this.figures().join('\n')}\n`)
  }

  /** Differences of each client format from the recording, with their reasons. */
  private figures(): string[] {
    const shares = [...this.results].map(([client, { passed, documented, defects, unexplained }]) => {
      const all = passed + documented + defects + unexplained
      const share = ((100 * (passed + documented)) / all).toFixed(2)
      const parts = `${passed} equal, ${documented} as documented, ${defects} known defects, ${unexplained} unexplained`
      return `# ${this.check} of ${client}: ${share} % of ${all} (${parts})`
    })
    return [...shares, ...[...this.counts].map(([{ kind, reason }, count]) => `#   ${kind}, ${count}: ${reason}`)]
  }

  private clientResults(client: string): { passed: number; documented: number; defects: number; unexplained: number } {
    const counts = this.results.get(client) ?? { passed: 0, documented: 0, defects: 0, unexplained: 0 }
    this.results.set(client, counts)
    return counts
  }
}
