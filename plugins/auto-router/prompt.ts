/** Input of the classifier: bounded parts of the request. */
import type { CanonicalRequest, Item } from '../../src/plugin-api/index.ts'

/** Characters read of the last user message: its beginning and its end. */
export const HEAD = 3000
export const TAIL = 2000
/** Characters read of system and developer messages together. */
export const SYSTEM = 1000
/** Items at the start that may be instructions, and at the end that may be the use of tools. */
const FIRST_ITEMS = 8
const LAST_ITEMS = 12

export interface Prompt {
  /** The last user message, its middle left out where it is long. */
  readonly user: string
  /** The beginning of the instructions. */
  readonly system: string
  /** The last user message holds an image or a video. */
  readonly seen: boolean
  /** The last user message holds a file. */
  readonly file: boolean
  /** Tools are offered, and the caller does not forbid their use. */
  readonly tools: boolean
  /** A tool was called lately. */
  readonly called: boolean
  readonly format: 'text' | 'json_object' | 'json_schema'
  readonly effort: string | undefined
}

export function requestPrompt(request: CanonicalRequest): Prompt {
  const { items } = request
  const last = items.findLast((item) => item.kind === 'message' && item.role === 'user')
  const media = new Set(last?.kind === 'message' ? last.parts.map((part) => (part.kind === 'media' ? part.media : undefined)) : [])
  return {
    user: last === undefined ? '' : ends(last),
    system: instructions(items),
    seen: media.has('image') || media.has('video'),
    file: media.has('file'),
    tools: request.tools.length > 0 && request.toolChoice?.mode !== 'none',
    called: items.slice(-LAST_ITEMS).some((item) => item.kind === 'call' || item.kind === 'result'),
    format: request.format?.type ?? 'text',
    effort: request.reasoning?.effort,
  }
}

/** Texts of a message, one per line: all of it, or its beginning and its end where it is long. */
function ends(item: Item): string {
  const texts = itemTexts(item)
  const length = texts.reduce((sum, text) => sum + text.length + 1, 0)
  if (length <= HEAD + TAIL) return texts.join('\n')
  let head = ''
  for (const text of texts) {
    if (head.length >= HEAD) break
    head += `${text.slice(0, HEAD)}\n`
  }
  let tail = ''
  for (const text of texts.toReversed()) {
    if (tail.length >= TAIL) break
    tail = tail === '' ? text.slice(-TAIL) : `${text.slice(-TAIL)}\n${tail}`
  }
  return `${head.slice(0, HEAD)}\n${tail.slice(-TAIL)}`
}

function instructions(items: readonly Item[]): string {
  let text = ''
  for (const item of items.slice(0, FIRST_ITEMS)) {
    if (text.length >= SYSTEM) break
    if (item.kind !== 'message' || (item.role !== 'system' && item.role !== 'developer')) continue
    for (const part of itemTexts(item)) text += `${part.slice(0, SYSTEM)}\n`
  }
  return text.slice(0, SYSTEM)
}

function itemTexts(item: Item): string[] {
  return item.kind === 'message' ? item.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])) : []
}
