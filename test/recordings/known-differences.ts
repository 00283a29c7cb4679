/**
 * What is known to differ between recorded traffic and what the gateway makes of it. `documented` differs by the documents,
 * `defect` is to be mended. An entry that no longer differs, or not as often, fails the tests: change its count or remove it.
 */

export interface Known {
  check: 'replies' | 'requests'
  kind: 'documented' | 'defect'
  /** Why it differs; of a documented loss, the section of the documents. */
  reason: string
  /** Client formats; all where absent. */
  clients?: readonly string[]
  leaf: RegExp
  /** Name and number of the exchange. */
  cassettes: RegExp
  /** Exchanges, each counted once for each client format. */
  count: number
}

export const KNOWN: readonly Known[] = []
