/** A batch as the calls that its provider takes. */
import { entryAt } from '../../core/entry-at.ts'
import type { EmbeddingInput } from '../../dialects/types.ts'
import { inputTokens } from './input-size.ts'

/** Inputs from `from` to before `to`. */
export interface Batch {
  readonly from: number
  readonly to: number
}

/** As few calls as the bounds allow, in order; an input that is beyond them by itself is a call of its own. */
export function batchesOf(inputs: readonly EmbeddingInput[], most: { inputs: number; tokens?: number | undefined }): Batch[] {
  const batches: Batch[] = []
  const room = most.tokens ?? Number.POSITIVE_INFINITY
  let from = 0
  let tokens = 0
  for (let at = 0; at < inputs.length; at++) {
    const own = room === Number.POSITIVE_INFINITY ? 0 : inputTokens(entryAt(inputs, at))
    if (at > from && (at - from >= most.inputs || tokens + own > room)) {
      batches.push({ from, to: at })
      from = at
      tokens = 0
    }
    tokens += own
  }
  batches.push({ from, to: inputs.length })
  return batches
}
