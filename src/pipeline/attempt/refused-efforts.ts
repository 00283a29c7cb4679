/**
 * Efforts that endpoints have refused: Ollama 0.17.4 takes words for gpt-oss alone, and glm-5.3 cannot be kept from thinking. Each refusal
 * costs a call, so it is remembered for a while, and what stands in for the effort is sent at once.
 */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { Remembered } from '../../core/remembered.ts'
import { dropEffort, EFFORT_FIELD, type EffortStandIn, effortIn, lowestEffort, refusedEffort } from '../../dialects/canon/efforts.ts'
import type { Encoded, UpstreamDialect } from '../../dialects/types.ts'
import type { Planned } from '../exchange.ts'

type Run = Planned['run']

/** Efforts may be a provider's own words, so they are a caller's. */
const KEPT = { forMs: 60 * 60_000, most: 1_000 }

const endpointKey = (endpoint: string, effort: string): string => `${endpoint}\n${effort}`

/** An endpoint, as far as its efforts go. */
interface EffortTarget {
  readonly endpoint: string
  readonly parameters: UpstreamDialect['parameters']
  /** The quirk. */
  readonly efforts: readonly string[] | undefined
}

export class RefusedEfforts {
  private readonly known: Remembered<EffortStandIn>

  constructor(clock: Clock) {
    this.known = new Remembered(clock, KEPT)
  }

  /** @param effort as it was sent; undefined where none was. */
  note(endpoint: string, effort: string | undefined, thrown: unknown): void {
    const standIn = thrown instanceof Fault ? refusedEffort(thrown.sentence) : undefined
    if (effort !== undefined) this.known.note(endpointKey(endpoint, effort), standIn ?? 'nothing')
  }

  /** Replaces the effort of a request where the endpoint has refused it, in place; notes the one that the request has. */
  fit({ body, dropped }: Encoded, run: Pick<Run, 'effort' | 'withoutEffort'>, { endpoint, parameters, efforts }: EffortTarget): void {
    const effort = effortIn(body)
    run.effort = effort
    if (effort === undefined) return
    const standIn = this.known.get(endpointKey(endpoint, effort))
    if (standIn === undefined && !run.withoutEffort?.has(endpoint)) return
    dropEffort(body)
    const { reasoning } = parameters
    const lowest = standIn === 'lowest' && 'as' in reasoning && reasoning.as === EFFORT_FIELD ? lowestEffort(efforts) : undefined
    if (lowest !== undefined) body[EFFORT_FIELD] = lowest
    dropped.push('reasoning.effort')
  }
}
