/** Text of a file, as the caller gets it and sends it back: then it is not read again. */
import { asObjects, type Item, isObject, type Json, type JsonObject, type Part } from '../../src/plugin-api/index.ts'

export interface FileNote {
  /** SHA-256, hex: of the bytes, or of the address where the caller sent one. */
  hash: string
  name: string
  /** Parts of text and images, as chat writes them. */
  content: JsonObject[]
}

export function shownNote({ hash, name, content }: FileNote): JsonObject {
  return { type: 'file', file: { hash, name, content } }
}

/** Notes that earlier answers of the conversation bring back, by hash: nested as in chat, or flat as elsewhere. */
export function returnedNotes({ messages, input }: JsonObject): ReadonlyMap<string, FileNote> {
  const notes = new Map<string, FileNote>()
  for (const message of asObjects(messages ?? input)) {
    for (const holder of [message, ...asObjects(message.content)])
      for (const each of [...asObjects(holder.annotations), ...asObjects(holder.citations)]) {
        const note = noteIn(each)
        if (note) notes.set(note.hash, note)
      }
  }
  return notes
}

function noteIn(annotation: JsonObject): FileNote | undefined {
  if (annotation.type !== 'file') return undefined
  const { hash, name, content } = isObject(annotation.file) ? annotation.file : annotation
  if (typeof hash !== 'string' || hash === '' || !Array.isArray(content)) return undefined
  return { hash, name: typeof name === 'string' ? name : '', content: content.filter(isObject) }
}

/** A note as parts for the model. @param seesImages false: images are left out. */
export function noteParts({ content }: FileNote, seesImages: boolean): Part[] {
  return content.flatMap((one): Part[] => {
    if (one.type === 'text' && typeof one.text === 'string') return [{ kind: 'text', text: one.text }]
    const url = isObject(one.image_url) ? one.image_url.url : undefined
    return seesImages && one.type === 'image_url' && typeof url === 'string' ? [{ kind: 'media', media: 'image', url }] : []
  })
}

type Beside = { native?: { data: JsonObject } }

/** Without the notes that came back: their words stand with the file itself. */
export function withoutNotes(item: Item): Item {
  if (item.kind !== 'message' || item.role !== 'assistant') return item
  const parts = item.parts.flatMap((part): Part[] => {
    const beside = part.kind === 'opaque' ? part.of : (part as Beside).native
    const { annotations } = beside?.data ?? {}
    if (!beside || !Array.isArray(annotations)) return [part]
    const left = annotations.filter((one: Json) => !(isObject(one) && noteIn(one)))
    if (left.length === annotations.length) return [part]
    const { annotations: _, ...others } = beside.data
    const data: JsonObject = left.length > 0 ? { ...others, annotations: left } : others
    if (part.kind !== 'opaque') return [Object.assign({ ...part }, { native: { ...beside, data } })]
    return left.length > 0 ? [{ ...part, of: { ...part.of, data } }] : []
  })
  return { ...item, parts }
}
