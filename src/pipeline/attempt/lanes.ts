/** Which lane a reply travels in: chosen once per attempt by this one function, never switched. */
import type { Lane } from './turn.ts'

export interface LaneFacts {
  /** Client and upstream speak the same wire. */
  sameWire: boolean
  /** A layer changed the canonical form. */
  edited: boolean
  /** Server tools, healing or output guardrails replace or withhold events. */
  mutated: boolean
  /** A tap reads the events. */
  observed: boolean
  /** The caller wants less than the provider sends, such as a reply without its reasoning. */
  reshaped: boolean
  /** Chosen by a test for the lanes that the facts allow. */
  forced?: Lane
}

export function chooseLane(facts: LaneFacts): Lane {
  const verbatim = facts.sameWire && !facts.edited && !facts.mutated && !facts.reshaped
  if (!verbatim) return 'translate'
  if (facts.forced === 'translate' || facts.forced === 'observe') return facts.forced
  return facts.observed ? 'observe' : 'pass'
}
