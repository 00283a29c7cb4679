/** Headers with the remaining limits per minute of a key, in the forms that clients read. */

/** One limit, as its counter has answered last. */
export interface SeenRate {
  /** Units per minute. */
  readonly limit: number
  readonly left: number
  /** Milliseconds until all of it is left again. */
  readonly full: number
}

/** Of the requests of a key with such a limit: those that have been counted by now. */
export class SeenRates {
  requests: SeenRate | undefined
  tokens: SeenRate | undefined
}

/**
 * Names of the headers of one limit, and how clients read when it is whole again: OpenAI's have a duration such as `6m0s` or `12ms`, which
 * `ParseDuration` of Go reads (platform.openai.com, guide "Rate limits", "Rate limits in headers"; ratelimit.go of go-openai 1.41.2);
 * Anthropic's have a time by RFC 3339 (platform.claude.com, "Rate limits", "Response headers").
 */
interface RateNames {
  readonly limit: string
  readonly left: string
  readonly reset: string
}

/** Form of the time at which a limit is whole again, with the header names that go with it. */
export type RateForm = 'durations' | 'times'

const NAMES: Readonly<Record<RateForm, Readonly<Record<keyof SeenRates, RateNames>>>> = {
  durations: {
    requests: {
      limit: 'X-RateLimit-Limit-Requests',
      left: 'X-RateLimit-Remaining-Requests',
      reset: 'X-RateLimit-Reset-Requests',
    },
    tokens: { limit: 'X-RateLimit-Limit-Tokens', left: 'X-RateLimit-Remaining-Tokens', reset: 'X-RateLimit-Reset-Tokens' },
  },
  times: {
    requests: {
      limit: 'Anthropic-RateLimit-Requests-Limit',
      left: 'Anthropic-RateLimit-Requests-Remaining',
      reset: 'Anthropic-RateLimit-Requests-Reset',
    },
    tokens: {
      limit: 'Anthropic-RateLimit-Tokens-Limit',
      left: 'Anthropic-RateLimit-Tokens-Remaining',
      reset: 'Anthropic-RateLimit-Tokens-Reset',
    },
  },
}

/** All of them, for pages of other origins. */
export const RATE_HEADERS: readonly string[] = Object.values(NAMES).flatMap((form) => Object.values(form).flatMap(Object.values))

/** @param now milliseconds since the epoch. */
export function addRateHeaders(headers: Record<string, string>, rates: SeenRates, form: RateForm, now: number): void {
  const { requests, tokens } = rates
  if (requests) addRate(headers, requests, form, { names: NAMES[form].requests, now })
  if (tokens) addRate(headers, tokens, form, { names: NAMES[form].tokens, now })
}

function addRate(
  headers: Record<string, string>,
  { limit, left, full }: SeenRate,
  form: RateForm,
  { names, now }: { names: RateNames; now: number },
): void {
  headers[names.limit] = String(limit)
  headers[names.left] = String(left)
  headers[names.reset] = form === 'durations' ? durationText(full) : timeText(now + full)
}

/** A duration as Go writes it. @param ms whole milliseconds. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  if (ms < 60_000) return `${ms / 1_000}s`
  return `${Math.floor(ms / 60_000)}m${(ms % 60_000) / 1_000}s`
}

/** To the second, never too early. */
function timeText(at: number): string {
  return `${new Date(Math.ceil(at / 1_000) * 1_000).toISOString().slice(0, -5)}Z`
}
