/** The conversation as an advisor is shown it: calls and their results in words, since it has no such tools. */
import type { Item, JsonObject, Part } from '../../plugin-api/index.ts'

type Media = Extract<Part, { kind: 'media' }>

/** @param reads kinds of input that the advisor's model takes; undefined where that is not known. @returns input of a request. */
export function transcript(items: readonly Item[], reads: readonly string[] | undefined): JsonObject[] {
  return items.flatMap((item) => turnOf(item, reads))
}

function turnOf(item: Item, reads: readonly string[] | undefined): JsonObject[] {
  switch (item.kind) {
    case 'message':
      return message(item, reads)
    case 'call':
      return [{ role: 'assistant', content: `[called the tool ${item.name} with ${item.args}]` }]
    case 'result':
      return [{ role: 'user', content: [{ type: 'input_text', text: '[the tool answered]' }, ...contentOf(item.parts, reads)] }]
    default:
      return []
  }
}

function message({ role, parts }: Extract<Item, { kind: 'message' }>, reads: readonly string[] | undefined): JsonObject[] {
  const content = role === 'assistant' ? spoken(parts) : contentOf(parts, reads)
  return content.length === 0 ? [] : [{ role, content }]
}

/** The text of an answer; its other parts are left out. */
function spoken(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : '')).join('')
}

function contentOf(parts: readonly Part[], reads: readonly string[] | undefined): JsonObject[] {
  return parts.flatMap((part) => {
    if (part.kind === 'text' || part.kind === 'refusal') return [{ type: 'input_text', text: part.text }]
    if (part.kind !== 'media') return []
    const shown = reads === undefined || reads.includes(part.media) ? mediaPart(part) : undefined
    return [shown ?? { type: 'input_text', text: `[here stands something of the kind ${part.media}, which you are not shown]` }]
  })
}

function mediaPart({ media, url, data, format, fileId, name, detail }: Media): JsonObject | undefined {
  if (media === 'image' && url !== undefined) return { type: 'input_image', image_url: url, detail: detail ?? 'auto' }
  if (media === 'audio' && data !== undefined) return { type: 'input_audio', input_audio: { data, format: format ?? 'wav' } }
  if (media === 'video' && url !== undefined) return { type: 'input_video', video_url: url }
  if (media !== 'file') return undefined
  const named = name === undefined ? {} : { filename: name }
  if (data !== undefined && format === 'text') return { type: 'input_text', text: data }
  if (url !== undefined) return { type: 'input_file', ...(url.startsWith('data:') ? { file_data: url } : { file_url: url }), ...named }
  return fileId === undefined ? undefined : { type: 'input_file', file_id: fileId, ...named }
}
