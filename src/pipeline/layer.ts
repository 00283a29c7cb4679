/** The shape of a layer, and the reply as it travels back up the chain. */
import type { Final } from '../dialects/types.ts'
import type { Turn } from './attempt/turn.ts'

export interface Reply {
  /** The last turn. */
  turn: Turn
  /** Body of a whole reply, or the last events of a stream. Called once, after the cost is settled. */
  finish(final: Final): string
  /** True where `finish` returns bytes, one per character. */
  readonly raw?: boolean
  /** Present where the body is long: the same as bytes, in pieces that are already there. */
  pieces?(final: Final): readonly Buffer[]
}

export type Service<X> = (exchange: X) => Promise<Reply>
/** A layer is given what follows it and the facts it needs; what it adds is in `Out`. */
export type Layer<In, Out = In> = (next: Service<Out>) => Service<In>
