/** Rules that hold for every reply and every stream of /v1/responses. */
import type { Test } from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { object } from './fold.ts'

/** Keys that strict validators of this API demand (docs/contract.md#responses-reply), and those that may not be null. */
const REQUIRED =
  'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier safety_identifier prompt_cache_key metadata'.split(
    ' ',
  )
const NEVER_NULL =
  'id object created_at status model output tools tool_choice truncation parallel_tool_calls text temperature top_p presence_penalty frequency_penalty top_logprobs service_tier background store'.split(
    ' ',
  )

export function wellFormed(t: Test, response: JsonObject, name: string): void {
  t.same(
    REQUIRED.filter((key) => !(key in response)),
    [],
    `${name}: every required key`,
  )
  t.same(
    NEVER_NULL.filter((key) => response[key] === null || response[key] === undefined),
    [],
    `${name}: no null where none is allowed`,
  )
  t.match(response.id, /^gen-/, `${name}: the id is ours`)
}

export const eventType = (event: JsonObject): string => String(event.type)

/** The rules that hold for every stream (docs/contract.md#responses-stream). */
export function inOrder(t: Test, seen: readonly JsonObject[], name: string): void {
  const types = seen.map(eventType)
  t.same(types.slice(0, 2), ['response.created', 'response.in_progress'], `${name}: created and in_progress come first`)
  t.same(
    seen.map((event) => event.sequence_number),
    [...seen.keys()],
    `${name}: numbers rise by one`,
  )
  const terminal = types.filter((type) => /^response\.(completed|incomplete|failed)$/.test(type))
  t.same(terminal, [types.at(-1)], `${name}: one terminal event, the last`)
  t.notOk(
    types.some((type) => type === 'response.done' || type === 'response.content_part.delta'),
    `${name}: no events of other names`,
  )
  const open = new Map<Json | undefined, string>()
  let closed = 0
  for (const event of seen) {
    if (event.type === 'response.output_item.added') open.set(event.output_index, String(object(event.item).id))
    if (event.item_id !== undefined && open.get(event.output_index) !== event.item_id) t.fail(`${name}: ${event.type} of another item`)
    if (event.type !== 'response.output_item.done') continue
    if (open.get(event.output_index) !== object(event.item).id) t.fail(`${name}: done without added`)
    closed++
  }
  t.equal(closed, open.size, `${name}: each added item has one done`)
  for (const one of seen) if (one.response) wellFormed(t, object(one.response), `${name}: ${eventType(one)}`)
}
