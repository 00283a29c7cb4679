/** Requests of callers, and their times: arrivals of a Poisson process and the bodies of the requests. */
import type { CanonicalRequest } from '../../src/dialects/canon/request.ts'
import type { Chance } from './chance.ts'
import { MINUTE, type ModelSlug } from './market.ts'
import type { Span } from './troubles.ts'

/** One request of a caller. */
export interface Asked {
  readonly number: number
  /** Virtual milliseconds. */
  readonly at: number
  readonly model: ModelSlug
  readonly stream: boolean
  /** Belongs to a conversation that stays with its provider. */
  readonly pinned: boolean
  /** Prefers providers that begin to answer soon. */
  readonly hurried: boolean
  readonly body: Buffer
}

export interface TrafficMix {
  /** Share of requests that state `preferred_max_latency`. */
  readonly hurried: number
}

const SMALL = 0.2
const STREAMED = 0.7
const PINNED = 0.1
const CONVERSATIONS = 400
/** Seconds to the first token, as the median of the last minutes. */
export const HURRIED_SECONDS = 2

/** So many arrivals over the span: given their number, those of a Poisson process are uniform. */
export function traffic(count: number, span: Span, mix: TrafficMix, chance: Chance): Asked[] {
  const times = Float64Array.from({ length: count }, () => (span.from + chance() * (span.to - span.from)) * MINUTE).sort()
  return Array.from(times, (at, number) => asked(number, at, mix, chance))
}

function asked(number: number, at: number, mix: TrafficMix, chance: Chance): Asked {
  const model: ModelSlug = chance() < SMALL ? 'acme/small' : 'acme/large'
  const stream = chance() < STREAMED
  const session = chance() < PINNED ? Math.floor(chance() * CONVERSATIONS) : undefined
  const hurried = chance() < mix.hurried
  const body = {
    model,
    messages: [{ role: 'user', content: `${number}. What is the time?` }],
    max_tokens: 512,
    stream,
    ...(session === undefined ? {} : { session_id: `conversation-${session}` }),
    ...(hurried ? { provider: { preferred_max_latency: HURRIED_SECONDS } } : {}),
  }
  return { number, at, model, stream, pinned: session !== undefined, hurried, body: Buffer.from(JSON.stringify(body)) }
}

/** Which request a provider is asked to answer: its text begins with the number. */
export function requestNumber(request: CanonicalRequest): number {
  const item = request.items.at(-1)
  const part = item?.kind === 'message' ? item.parts[0] : undefined
  const number = part?.kind === 'text' ? Number.parseInt(part.text, 10) : Number.NaN
  if (Number.isNaN(number)) throw new Error('a request without its number reached a provider')
  return number
}
