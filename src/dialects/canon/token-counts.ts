/**
 * Counts of tokens by kind, in the order of their settings. `npm run generate` writes this file from `src/core/token-kinds.ts`.
 */
export interface TokenCounts {
  input: number
  output: number
  /** Input tokens read from a cache. */
  cached: number
  /** Input tokens written to a cache. */
  cacheWrite: number
  /** Reasoning tokens. */
  reasoning: number
  /** Output tokens of images. */
  imageOutput: number
  /** Output tokens of audio. */
  audioOutput: number
  /** Input tokens of audio. */
  audioInput: number
  /** Input tokens written to a cache for an hour; they are among `cacheWrite`. */
  cacheWriteLong?: number | undefined
}

export function noCounts(): TokenCounts {
  return { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, imageOutput: 0, audioOutput: 0, audioInput: 0 }
}

export function addCounts(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
    imageOutput: a.imageOutput + b.imageOutput,
    audioOutput: a.audioOutput + b.audioOutput,
    audioInput: a.audioInput + b.audioInput,
    ...(a.cacheWriteLong || b.cacheWriteLong ? { cacheWriteLong: (a.cacheWriteLong ?? 0) + (b.cacheWriteLong ?? 0) } : {}),
  }
}

export function inputCounts({ input, cached, cacheWrite, audioInput, cacheWriteLong }: TokenCounts): Partial<TokenCounts> {
  return { input, cached, cacheWrite, audioInput, ...(cacheWriteLong ? { cacheWriteLong } : {}) }
}

export function outputCounts({ output, reasoning, imageOutput, audioOutput }: TokenCounts): Partial<TokenCounts> {
  return { output, reasoning, imageOutput, audioOutput }
}
