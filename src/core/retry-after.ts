/** Pauses that providers state, and the pause that callers are given: the one place that writes `Retry-After`. */

/**
 * Seconds. What clients make of more (openai 7.59.0 and @anthropic-ai/sdk 1.14.0 of npm, openai 3.57.0 and anthropic 2.14.0 of PyPI): openai's
 * npm package calls again after 0.5 s, its PyPI package gives up above 120, Anthropic's sleep for as long as the header says.
 */
export const MAX_RETRY_AFTER_SECONDS = 60

/** Read by the SDKs of OpenAI and Anthropic before the status (`shouldRetry` in client.ts of npm openai 7.59.0 and @anthropic-ai/sdk 1.14.0). */
export const NO_RETRY: Readonly<Record<string, string>> = { 'X-Should-Retry': 'false' }

/**
 * Never 0, on which some of them call again at once. A longer pause is 60 seconds with `X-Should-Retry: false`; the body has its true length.
 * @param seconds undefined where no pause is known.
 */
export function retryHeaders(seconds: number | undefined): Record<string, string> {
  if (seconds === undefined) return {}
  const shown = Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(seconds)))
  return { 'Retry-After': String(shown), ...(seconds > MAX_RETRY_AFTER_SECONDS ? NO_RETRY : {}) }
}

/** Longest pause in seconds that is taken from a provider: a week is the longest quota that there is. */
export const MAX_PAUSE_SECONDS = 7 * 86_400

/**
 * The `Retry-After` header of a provider (RFC 9110, 10.2.3), made harmless.
 * @param now milliseconds since the epoch.
 * @returns whole seconds, at most a week; undefined where the header is absent or no sense can be made of it.
 */
export function pauseIn(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), MAX_PAUSE_SECONDS)
  if (!/^[A-Z][a-z]{2},? /.test(text)) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return undefined
  const seconds = Math.ceil((at - now) / 1000)
  return seconds < 0 ? undefined : Math.min(seconds, MAX_PAUSE_SECONDS)
}

/** Headers of a provider's reply that goes on as it came, with a pause that callers can bear: the provider's own stands beside it. */
export function withBearablePause<Headers extends Readonly<Record<string, unknown>>>(headers: Headers, now: number): Headers {
  const { 'retry-after': stated } = headers
  const seconds = typeof stated === 'string' ? pauseIn(stated, now) : undefined
  if (seconds === undefined || seconds <= MAX_RETRY_AFTER_SECONDS) return headers
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(retryHeaders(seconds))) shown[name.toLowerCase()] = value
  return { ...headers, ...shown, 'x-provider-retry-after': stated }
}
