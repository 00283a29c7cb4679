/**
 * POST /v1/responses/compact: the body gets a trigger at its end, and the reply is "a list of all user messages, followed by a single
 * compaction item" (types of openai 7.57.0, `CompactedResponse`; recorded: test_openai_responses_compact_messages).
 */
import { badField } from '../../core/faults.ts'
import { asObjects, type Json, type JsonObject } from '../../core/json.ts'
import type { Folded } from '../canon/fold.ts'
import type { Final, ReplyContext } from '../types.ts'
import { checkRequest, itemType } from './check.ts'
import { isOpened, TRIGGER } from './compaction.ts'
import { encodeUsage } from './usage.ts'

/** Bytes of text in the user's own messages that come back, the newest first: 64,000 tokens, as Codex keeps of them (compact_remote_v2.rs). */
const MAX_KEPT = 64_000 * 4

/** @returns the same body where its input is no list of items or a text: the check names it. */
export function withTrigger(body: JsonObject): JsonObject {
  const { input } = body
  const items: Json[] | undefined =
    typeof input === 'string' ? [{ role: 'user', content: input }] : Array.isArray(input) ? input : undefined
  return items ? { ...body, input: [...items, { type: TRIGGER }] } : body
}

/** @throws Fault 400. */
export function checkCompact(body: JsonObject): void {
  if (body.stream === true) throw badField('stream', 'must not be true: the reply of this operation is one object')
  if (!Array.isArray(body.input)) throw badField('input', 'is required: the conversation, as a text or a list of items')
  checkRequest(body)
}

/** @returns the compacted window as JSON text: the user's messages, then the item that replaces the rest. */
export function encodeCompacted(folded: Folded, ctx: ReplyContext, final: Final): string {
  const items = folded.blocks.flatMap(({ of }) => (of?.type === 'compaction' ? [{ ...of.data, type: of.type }] : []))
  const reply: JsonObject = {
    id: ctx.id,
    object: 'response.compaction',
    created_at: ctx.created,
    model: ctx.model,
    output: [...keptMessages(ctx), ...items],
    usage: encodeUsage(final),
  }
  if (final.metadata) reply[`${ctx.brand}_metadata`] = final.metadata
  return JSON.stringify(reply)
}

function keptMessages({ body, id }: ReplyContext): JsonObject[] {
  const messages: JsonObject[] = []
  let left = MAX_KEPT
  for (const item of asObjects(body.input).reverse()) {
    if (itemType(item) !== 'message' || item.role !== 'user' || isOpened(item)) continue
    left -= textBytes(item.content)
    if (left < 0) break
    messages.push(item)
  }
  return messages.reverse().map(({ id: own, content }, at) => ({
    id: typeof own === 'string' ? own : `msg_${id.replace(/^gen-/, '')}_${at}`,
    type: 'message',
    role: 'user',
    status: 'completed',
    content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : (content ?? []),
  }))
}

function textBytes(content: Json | undefined): number {
  if (typeof content === 'string') return Buffer.byteLength(content)
  let bytes = 0
  for (const { text } of asObjects(content)) if (typeof text === 'string') bytes += Buffer.byteLength(text)
  return bytes
}
