/** What the scenes of coding agents share: where a dialect's operations are, and what is told of a run. */
import type { Seen } from '../../support/upstream.ts'
import type { WireName } from '../../support/wire.ts'

/** Path of a provider's base URL. */
export const BASE_PATHS: Readonly<Record<WireName, string>> = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }

/** Prints the sizes of the requests that the provider has seen, and how many tools each offered. */
export function report(name: string, seen: readonly Seen[]): void {
  const requests = seen.map(({ json, body }) => `${body.length} bytes with ${Array.isArray(json.tools) ? json.tools.length : 0} tools`)
  console.log(`ok - ${name}: ${requests.join(', ')}`)
}
