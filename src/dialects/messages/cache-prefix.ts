/**
 * Marks for the provider's cache (quirk `cache_prefix`): on the stable prefix, which is tools, system and the turns before the newest, and
 * on results of tools, since the request after them begins with them. Unless the operator sets otherwise, callers of formats whose own
 * providers cache without marks get them where the conversation has results of tools: it goes on, so that what is written to the cache is
 * read again. Rules: at most four marks; the prefix goes tools, system, messages; what a mark finds again was written
 * at most 20 blocks before it; reasoning takes no mark (platform.claude.com, Prompt caching, "Cache limitations"; ThinkingBlockParam,
 * @anthropic-ai/sdk 1.14.0).
 */
import { asObjects, isObject, type Json, type JsonObject, jsonBytes } from '../../core/json.ts'
import type { Target } from '../types.ts'
import { cacheControl } from './encode-blocks.ts'
import { neverSends } from './fit-request.ts'

/** Tokens of the shortest prefix that is cached, where the endpoint's data name none. */
const USUAL_MINIMUM = 1024
/** Of English text and of JSON; a prefix that is estimated too long is sent with a mark that the provider ignores. */
const BYTES_PER_TOKEN = 3.5

const UNMARKED: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'compaction'])

/** True where the caller has marked what is to be cached, or that nothing is. */
function isDecided(body: JsonObject): boolean {
  if (body.cache_control !== undefined) return true
  const marked = (block: JsonObject): boolean => isObject(block.cache_control) || asObjects(block.content).some(marked)
  return [body.tools, body.system].some((list) => asObjects(list).some(marked)) || asObjects(body.messages).some(marked)
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

const holdsResults = (message: JsonObject | undefined): boolean => asObjects(message?.content).some(({ type }) => type === 'tool_result')

/**
 * Messages that get a mark: the end of what the next request begins with, and where the mark of the request before was. The second is
 * needed where a turn has more blocks than the provider looks back. Behind results of tools the model goes on, so their message is the
 * end; another newest turn may be sent anew in other words, so the end is the answer before it.
 */
function turnEnds(messages: readonly JsonObject[]): number[] {
  const role = holdsResults(messages.at(-1)) ? 'user' : 'assistant'
  const ends: number[] = []
  for (let i = messages.length - 1; i >= 0 && ends.length < 2; i--) if (messages[i]?.role === role) ends.push(i)
  return ends
}

/** Time for which the provider is to keep the prefix; undefined where it is not marked. @param ownFormat whether the caller could set marks itself. */
function timeToLive(body: JsonObject, target: Target, ownFormat: boolean): '5m' | '1h' | undefined {
  const wanted = target.quirks.cache_prefix ?? 'auto'
  if (wanted === 'off') return undefined
  if (wanted !== 'auto') return wanted
  return !ownFormat && !neverSends(target, 'cache_control') && asObjects(body.messages).some(holdsResults) ? '5m' : undefined
}

/**
 * A mark of the whole request, which caches up to its last block, on that block itself, for providers that refuse `cache_control` beside
 * the messages (github.com/UKGovernmentBEIS/inspect_ai/pull/3851).
 * @param body is changed; its lists are copied first.
 */
export function markLastBlock(body: JsonObject, { quirks }: Target, dropped: string[]): void {
  const { cache_control: mark } = body
  if (quirks.cache_whole !== false || mark === undefined) return
  delete body.cache_control
  if (!isObject(mark)) return
  const messages = asObjects(body.messages)
  const last = messages.at(-1)
  const content = markedContent(last?.content, mark)
  if (last && content) body.messages = messages.with(-1, { ...last, content })
  else dropped.push('cache_control')
}

/** @param body is changed; its lists are copied first. @param ownFormat whether the caller speaks Messages. */
export function markPrefix(body: JsonObject, target: Target, ownFormat: boolean): void {
  const { quirks } = target
  const ttl = timeToLive(body, target, ownFormat)
  if (ttl === undefined || isDecided(body)) return
  const mark = cacheControl({ ttl })
  const least = (quirks.cache_minimum ?? USUAL_MINIMUM) * BYTES_PER_TOKEN
  const { tools, system } = body
  const messages = asObjects(body.messages)
  // Measured no further than it matters: the tools of an agent take 60 µs, its conversation 0.3 ms.
  let size = Array.isArray(tools) ? jsonBytes(tools, least) : 0
  if (Array.isArray(tools) && size >= least) body.tools = withMark(tools, mark, isShown) ?? tools
  if (system !== undefined && size < least) size += jsonBytes(system, least)
  if (system !== undefined && size >= least) body.system = markedContent(system, mark) ?? system
  const ends = turnEnds(messages)
  const [last] = ends
  if (last === undefined) return
  for (let i = 0; i <= last && size < least; i++) size += jsonBytes(messages[i] ?? null, least)
  if (size < least) return
  body.messages = messages.map((message, i) => {
    const content = ends.includes(i) ? markedContent(message.content, mark) : undefined
    return content ? { ...message, content } : message
  })
}
