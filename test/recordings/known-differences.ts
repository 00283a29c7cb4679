/**
 * Known differences between recorded traffic and what the gateway makes of it. `documented` differs by the documents,
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

export const KNOWN: readonly Known[] = [
  {
    check: 'replies',
    kind: 'documented',
    reason: 'a tier that the format does not list is shown as `default` (docs/dialects.md; async-openai 0.43.0 loses the reply otherwise)',
    leaf: /^member service_tier$/,
    cassettes: /groq|test_tool_use_failed_error/,
    count: 36,
  },
  {
    check: 'replies',
    kind: 'documented',
    reason: 'a whole reply that ended in an error without content is one for the next endpoint, then a real HTTP error (decision 27)',
    leaf: /^status$/,
    cassettes: /google_vertex/,
    count: 9,
  },
  {
    check: 'replies',
    kind: 'documented',
    reason: 'a reply that has only begun (`status: queued`) is no answer (decision 27)',
    leaf: /^status$/,
    cassettes: /background_mode/,
    count: 15,
  },
]
