/**
 * Kinds of models that nothing declares, learned from the servers' replies: such a model is offered for texts and for vectors alike until a
 * request has shown that it does not do one of them. Each such request is a call in vain, so the reply is remembered; but only for a while,
 * since the server may be restarted with another kind of model.
 */
import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/faults.ts'
import { Remembered } from '../../core/remembered.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import { mayBeCallers, type SentRequest } from '../refusal/echoed-words.ts'
import { lackedOperation, type Operation } from './wrong-kind.ts'

/** Duration and number of refusals that are remembered: callers choose the names behind a wildcard, so they are bounded. */
const KEPT = { forMs: 10 * 60_000, most: 1_000 }
/** The same for operations that were served: a server can do them, whatever a proxy in front of it replies while it is away. */
const SHOWN = { forMs: 24 * 60 * 60_000, most: 1_000 }

/** Key of an operation of an endpoint. The address is part of it, since another address is another server. */
const endpointKey = ({ provider, upstreamModel }: Endpoint, operation: string): string =>
  [operation, provider.slug, provider.baseUrl, upstreamModel].join('\n')

export class ModelKinds {
  private readonly lacking: Remembered<true>
  private readonly having: Remembered<true>

  constructor(clock: Clock) {
    this.lacking = new Remembered(clock, KEPT)
    this.having = new Remembered(clock, SHOWN)
  }

  /** Notes that a call of an endpoint was served whose model is of no known kind. */
  noteServed(endpoint: Endpoint): void {
    this.having.note(endpointKey(endpoint, endpoint.model.kind), true)
  }

  /**
   * Takes the fault with which a call of the endpoint has ended; words that the caller may have written say nothing.
   * @param status of the reply, where there was one.
   */
  note(endpoint: Endpoint, fault: Fault, { status, request }: { status: number | null; request: SentRequest }): void {
    const { unknownKind, kind, wildcard } = endpoint.model
    if (!unknownKind || (kind !== 'generate' && kind !== 'embedding')) return
    const isListed = wildcard === undefined && this.having.get(endpointKey(endpoint, kind)) === undefined
    const words = status === null ? undefined : lackedOperation(fault, { status, operation: kind, isListed })
    if (words !== undefined && !mayBeCallers(words, request)) this.lacking.note(endpointKey(endpoint, kind), true)
  }

  /** True where each endpoint of the model has answered that it does not do this. */
  lacks({ unknownKind, endpoints }: Model, operation: Operation): boolean {
    if (!unknownKind || endpoints.length === 0) return false
    return endpoints.every((endpoint) => this.lacking.get(endpointKey(endpoint, operation)) === true)
  }
}
