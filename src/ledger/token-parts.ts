/**
 * The parts of a usage by kind of token, each at its own rate. `npm run generate` writes this file from `src/core/token-kinds.ts`.
 */
import type { Bill } from '../core/money.ts'
import type { Rates } from '../core/price.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import { highest } from './highest-rate.ts'

/** The most tokens of any one kind that a charge counts, so that its sums stay exact. */
export const MAX_TOKENS = 1e15

/** A value as a count between 0 and the most that there may be. */
export function within(value: number, most: number): number {
  return value > 0 ? Math.min(value, most) : 0
}

/**
 * Adds the parts of a usage to the bills of its input and its output; what is reported beyond the whole of a side is cut, from the last kind
 * on.
 */
export function addTokens(usage: Usage, price: Rates, inputBill: Bill, outputBill: Bill): void {
  const input = within(usage.input, MAX_TOKENS)
  const cached = within(usage.cached, input)
  const cacheWrite = within(usage.cacheWrite, input - cached)
  const audio = within(usage.audioInput, input - cached - cacheWrite)
  const imageInput = within(usage.inputSplit?.image ?? 0, input - cached - cacheWrite - audio)
  const cacheWriteLong = within(usage.cacheWriteLong ?? 0, cacheWrite)
  const output = within(usage.output, MAX_TOKENS)
  const reasoning = within(usage.reasoning, output)
  const imageOutput = within(usage.imageOutput, output - reasoning)
  const audioOutput = within(usage.audioOutput, output - reasoning - imageOutput)
  inputBill.add(input - cached - cacheWrite - audio - imageInput, price.prompt, 'prompt')
  if (cached > 0) inputBill.add(cached, price.cached ?? price.prompt, 'cached')
  if (cacheWrite > cacheWriteLong)
    inputBill.add(
      cacheWrite - cacheWriteLong,
      price.cacheWrite ?? highest(price.cacheWrite, price.cacheWriteLong, price.prompt),
      'cache_write',
    )
  if (cacheWriteLong > 0)
    inputBill.add(cacheWriteLong, price.cacheWriteLong ?? highest(price.cacheWrite, price.cacheWriteLong, price.prompt), 'cache_write_long')
  if (audio > 0) inputBill.add(audio, price.audio ?? price.prompt, 'audio')
  if (imageInput > 0) inputBill.add(imageInput, price.imageInput ?? price.prompt, 'image_input')
  outputBill.add(output - reasoning - imageOutput - audioOutput, price.completion, 'completion')
  if (imageOutput > 0) outputBill.add(imageOutput, price.imageOutput ?? price.completion, 'image_output')
  if (audioOutput > 0) outputBill.add(audioOutput, price.audioOutput ?? price.completion, 'audio_output')
  if (reasoning > 0) outputBill.add(reasoning, price.reasoning ?? price.completion, 'reasoning')
}

/** True where tokens have no column of their own in the ledger (`src/core/ledger-counts.ts`). */
export function hasOtherKinds(usage: Usage): boolean {
  if (usage.cacheWriteLong) return true
  if (usage.imageOutput > 0) return true
  if (usage.audioOutput > 0) return true
  if (usage.audioInput > 0) return true
  if (usage.inputSplit?.image) return true
  return false
}
