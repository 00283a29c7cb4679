/** Marks where the prompt is worth caching: the API takes four of them in one request. */
import { isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'

const MOST = 4

/** Blocks that may carry a mark, those inside of tool results included. */
function blocksOf(content: Json | undefined): JsonObject[] {
  return objectsOf(content).flatMap((block) => (block.type === 'tool_result' ? [...objectsOf(block.content), block] : [block]))
}

const isMarked = (block: JsonObject): boolean => isObject(block.cache_control)

/** Copies of the objects within a list of blocks, so that the caller's own stay as they are. */
function copied(content: Json | undefined): Json | undefined {
  if (!Array.isArray(content)) return content
  return content.map((block) => {
    if (!isObject(block)) return block
    return Array.isArray(block.content) ? { ...block, content: copied(block.content) } : { ...block }
  })
}

function copyAll(body: JsonObject): void {
  for (const field of ['tools', 'system']) if (body[field] !== undefined) body[field] = copied(body[field])
  body.messages = objectsOf(body.messages).map((message) => ({ ...message, content: copied(message.content) }))
}

/**
 * Takes out marks beyond the limit, the earliest of the conversation first: the later ones reach further.
 * @param most marks that may stay; 0 for a provider that knows none.
 */
export function limitMarks(body: JsonObject, dropped: string[], most = MOST): void {
  const marks = (): JsonObject[] => {
    const messages = objectsOf(body.messages).flatMap((message) => blocksOf(message.content))
    return [...messages, ...blocksOf(body.tools), ...blocksOf(body.system)].filter(isMarked)
  }
  if (most === 0 && body.cache_control !== undefined) {
    delete body.cache_control
    dropped.push('cache_control')
  }
  const free = isObject(body.cache_control) ? most - 1 : most
  if (marks().length <= free) return
  copyAll(body)
  const all = marks()
  for (const block of all.slice(0, all.length - free)) delete block.cache_control
  dropped.push('cache_control')
}
