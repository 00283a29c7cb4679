/** Troubles by provider and time: the data that scenarios are made of. */
import type { FaultCode } from '../../src/core/faults.ts'
import type { ProviderName } from './market.ts'

/** A span of minutes, its end excluded. */
export interface Span {
  readonly from: number
  readonly to: number
}

interface Ailment extends Span {
  readonly provider: ProviderName
}

/** Calls fail. */
export interface Failing extends Ailment {
  readonly kind: 'failing'
  /** Form of each failure for the gateway. */
  readonly code: FaultCode
  /** Share of the calls that fail. */
  readonly share: number
  /** Milliseconds until the failure is told. */
  readonly afterMs: number
}

/** Answers come, but late. */
export interface Slow extends Ailment {
  readonly kind: 'slow'
  /** Times as long to the first token, and as long in all. */
  readonly factor: number
}

/** More than so many calls per model and window are refused with a Retry-After that reaches to the window's end. */
export interface Limited extends Ailment {
  readonly kind: 'limited'
  readonly calls: number
  readonly windowMs: number
}

export type Trouble = Failing | Slow | Limited
