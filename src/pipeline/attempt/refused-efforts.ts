/**
 * Efforts that endpoints have refused: Ollama 0.17.4 takes words for gpt-oss alone. Each refusal costs a call, so it is remembered for a
 * while and the effort left out at once.
 */
import type { Clock } from '../../core/clock.ts'
import { Remembered } from '../../core/remembered.ts'
import { dropEffort, effortIn } from '../../dialects/canon/efforts.ts'
import type { Encoded } from '../../dialects/types.ts'
import type { Planned } from '../exchange.ts'

type Run = Planned['run']

/** Efforts may be a provider's own words, so they are a caller's. */
const KEPT = { forMs: 60 * 60_000, most: 1_000 }

const keyOf = (endpoint: string, effort: string): string => `${endpoint}\n${effort}`

export class RefusedEfforts {
  private readonly known: Remembered<true>

  constructor(clock: Clock) {
    this.known = new Remembered(clock, KEPT)
  }

  /** @param effort as it was sent; undefined where none was. */
  note(endpoint: string, effort: string | undefined): void {
    if (effort !== undefined) this.known.note(keyOf(endpoint, effort), true)
  }

  /** Leaves the effort out of a request where the endpoint has refused it, in place; notes the one that the request has. */
  fit({ body, dropped }: Encoded, run: Pick<Run, 'effort' | 'withoutEffort'>, endpoint: string): void {
    const effort = effortIn(body)
    run.effort = effort
    if (effort === undefined || !(run.withoutEffort?.has(endpoint) || this.known.get(keyOf(endpoint, effort)))) return
    dropEffort(body)
    dropped.push('reasoning.effort')
  }
}
