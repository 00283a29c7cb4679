/**
 * Endpoints that refuse `stream_options`, so that each stream would fail: it is left out there for a while, and what such a stream uses is
 * estimated from its text.
 */
import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { Remembered } from '../../core/remembered.ts'

const KEPT = { forMs: 60 * 60_000, most: 1_000 }

/**
 * Databricks, open models (github.com/continuedev/continue/issues/12936, github.com/anomalyco/opencode/issues/31156); Azure with data sources
 * (github.com/openai/openai-python/issues/2296); Fireworks of 2024 (github.com/FlowiseAI/Flowise/issues/2866). From the first word on, since
 * a refusal may repeat words of a caller, and what it teaches holds for others.
 */
const REFUSALS = [
  /^(?:bad request: )?json: unknown field "stream_options"/i,
  /^validation error at #\/stream_options: extra inputs are not permitted/i,
  /^extra inputs are not permitted, field: 'stream_options'/i,
]

export const refusesOptions = (sentence = ''): boolean => REFUSALS.some((refusal) => refusal.test(sentence))

export class RefusedOptions {
  private readonly refused: Remembered<true>

  constructor(clock: Clock) {
    this.refused = new Remembered(clock, KEPT)
  }

  /** @param endpoint its id. */
  note(endpoint: string): void {
    this.refused.note(endpoint, true)
  }

  /** Takes the field out of a body, in place, where the endpoint has refused it. */
  fit(body: JsonObject, endpoint: string): void {
    if (this.refused.known.size > 0 && body.stream_options !== undefined && this.refused.get(endpoint)) delete body.stream_options
  }
}
