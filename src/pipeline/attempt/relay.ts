/** A relay makes the caller's bytes of the provider's: as they are (`pass-relay.ts`), or decoded (`reply/relays.ts`). */
import type { Fault } from '../../core/faults.ts'
import type { Final, PassFacts } from '../../dialects/types.ts'
import type { LateReader } from '../records.ts'

/** Bytes that have come through a relay. */
export interface RelayFacts extends PassFacts {
  /** True once content has been returned: the commit point. */
  readonly committed: boolean
  readonly relayed: number
  readonly images: number
}

export interface Relay {
  /** True if its methods return bytes, one per character; else text, but for `finish`. */
  readonly raw: boolean
  readonly facts: RelayFacts
  feed(chunk: Buffer): string
  close(): string
  /** The upstream broke off: what taps hold is handed on. */
  abandon?(): string
  /** Bytes, one per character. */
  finish(final: Final): string
  /** Content has been decoded, whether or not it has gone out: the path knows of this attempt. */
  readonly begun?: boolean
  /** The answer has ended at a stop sequence, and the provider writes on: the rest is not read. */
  readonly isCut?: boolean
  /** A guardrail refuses the answer. */
  readonly refusal?: Fault | undefined
  /** Settles once nothing waits for an engine any more. */
  readonly pending?: Promise<void> | undefined
  readonly crowded?: boolean
  /** Called while no bytes come. */
  listen?(late: LateReader): void
}
