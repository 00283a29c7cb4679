/**
 * Marks for the provider's cache that the operator wants on every request (quirk `cache_prefix`): the stable prefix, which is tools, system
 * and the turns before the newest. Rules: at most four marks; the prefix goes tools, system, messages; what a mark finds again was written
 * at most 20 blocks before it; reasoning takes no mark (platform.claude.com, Prompt caching, "Cache limitations"; ThinkingBlockParam,
 * @anthropic-ai/sdk 1.14.0).
 */
import { bytesOf, isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'
import type { Target } from '../types.ts'
import { cacheControl } from './encode-blocks.ts'

/** Tokens of the shortest prefix that is cached, where the endpoint's data name none. */
const USUAL_MINIMUM = 1024
/** Of English text and of JSON; a prefix that is estimated too long is sent with a mark that the provider ignores. */
const BYTES_PER_TOKEN = 3.5

const UNMARKED: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'compaction'])

/** True where the caller has said itself what is to be cached, or that nothing is. */
function isDecided(body: JsonObject): boolean {
  if (body.cache_control !== undefined) return true
  const marked = (block: JsonObject): boolean => isObject(block.cache_control) || objectsOf(block.content).some(marked)
  return [body.tools, body.system].some((list) => objectsOf(list).some(marked)) || objectsOf(body.messages).some(marked)
}

const takesMark = (block: JsonObject): boolean => !UNMARKED.has(block.type) && !(block.type === 'text' && String(block.text).trim() === '')

/** The list with a mark on its last block that takes one; undefined where none does. */
function withMark(blocks: readonly Json[], mark: JsonObject, takes: (block: JsonObject) => boolean): Json[] | undefined {
  const at = blocks.findLastIndex((block) => isObject(block) && takes(block))
  return at === -1 ? undefined : blocks.with(at, { ...(blocks[at] as JsonObject), cache_control: mark })
}

function markedContent(content: Json | undefined, mark: JsonObject): Json[] | undefined {
  if (typeof content === 'string') return content.trim() === '' ? undefined : [{ type: 'text', text: content, cache_control: mark }]
  return Array.isArray(content) ? withMark(content, mark, takesMark) : undefined
}

/** A deferred tool is no part of the prompt at its beginning (Tool.defer_loading, @anthropic-ai/sdk 1.14.0). */
const isShown = (tool: JsonObject): boolean => tool.defer_loading !== true && (tool.type ?? 'custom') === 'custom'

/**
 * Ends of the turns before the newest: where this request's mark goes, and where that of the request before it was. The second is needed
 * where a turn has more blocks than the provider looks back.
 */
function turnEnds(messages: readonly JsonObject[]): number[] {
  const ends: number[] = []
  for (let i = messages.length - 2; i >= 0 && ends.length < 2; i--) if (messages[i]?.role === 'assistant') ends.push(i)
  return ends
}

/** @param body is changed; its lists are copied first. */
export function markPrefix(body: JsonObject, { quirks }: Target): void {
  const ttl = quirks.cache_prefix
  if (ttl === undefined || isDecided(body)) return
  const mark = cacheControl({ ttl })
  const least = (quirks.cache_minimum ?? USUAL_MINIMUM) * BYTES_PER_TOKEN
  const { tools, system } = body
  const messages = objectsOf(body.messages)
  let size = Array.isArray(tools) ? bytesOf(tools) : 0
  if (Array.isArray(tools) && size >= least) body.tools = withMark(tools, mark, isShown) ?? tools
  if (system !== undefined) size += bytesOf(system)
  if (system !== undefined && size >= least) body.system = markedContent(system, mark) ?? system
  const ends = turnEnds(messages)
  const [last] = ends
  if (last === undefined) return
  for (const message of messages.slice(0, last + 1)) size += bytesOf(message)
  if (size < least) return
  body.messages = messages.map((message, i) => {
    const content = ends.includes(i) ? markedContent(message.content, mark) : undefined
    return content ? { ...message, content } : message
  })
}
