/** An answer of a provider that lives inside this process. */
import type { Fault } from '../core/faults.ts'
import type { StreamEvent } from './canon/events.ts'

export interface LocalSink {
  events(batch: readonly StreamEvent[]): void
  /** An HTTP-like failure before any event, or a cut after some. */
  fail(fault: Fault): void
  end(): void
}

export interface LocalRun {
  pause(): void
  resume(): void
  abort(): void
}
