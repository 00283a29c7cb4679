/** Sources of an answer: grounding and citation metadata as `url_citation` annotations. */
import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'

interface Source {
  url: string
  title?: string | undefined
  content?: string | undefined
}

interface Citation extends Source {
  /** UTF-8 bytes of the text; undefined where the source names no place. */
  start?: number
  end?: number
  /** The cited words, where named. */
  words?: string | undefined
}

/** Kinds of sources that a grounding chunk may hold. */
const KINDS = ['web', 'retrievedContext', 'maps', 'image'] as const

function chunkSource(chunk: JsonObject | undefined): Source | undefined {
  for (const kind of KINDS) {
    const source = chunk?.[kind]
    if (!isObject(source)) continue
    const url = asString(source.uri) ?? asString(source.sourceUri) ?? asString(source.imageUri)
    if (url === undefined) continue
    const content = kind === 'retrievedContext' ? asString(source.text) : undefined
    return { url, title: asString(source.title), content }
  }
  return undefined
}

const offset = (value: Json | undefined): number => (typeof value === 'number' && value > 0 ? Math.floor(value) : 0)

/** UTF-16 offset of the character that a byte lies in. */
function unitsUpTo(bytes: Buffer, end: number): number {
  return bytes.toString('utf8', 0, end).length
}

function annotation({ url, title, content }: Source, start: number, end: number): JsonObject {
  return present({ type: 'url_citation', url, title: title ?? url, start_index: start, end_index: end, content })
}

/** Collects what a reply reports of its sources until the text that they belong to ends. */
export class Citations {
  private waiting: Citation[] = []
  private readonly known = new Set<string>()
  /** Sources of the reply that no place refers to, and whether any place was named. */
  private chunks: JsonObject[] = []
  private placed = false

  /** `groundingMetadata` of a candidate; streams may repeat it. */
  addGrounding(metadata: JsonObject): void {
    const chunks = asObjects(metadata.groundingChunks)
    if (chunks.length > 0) this.chunks = chunks
    for (const support of asObjects(metadata.groundingSupports)) {
      const segment = isObject(support.segment) ? support.segment : {}
      const indices = Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : []
      for (const index of indices) {
        const source = typeof index === 'number' ? chunkSource(this.chunks[index]) : undefined
        if (source) this.add({ ...source, start: offset(segment.startIndex), end: offset(segment.endIndex), words: asString(segment.text) })
      }
    }
  }

  /** `citationMetadata` of a candidate; its list has two names. */
  addCitations(metadata: JsonObject): void {
    for (const each of asObjects(metadata.citations ?? metadata.citationSources)) {
      const url = asString(each.uri)
      if (url !== undefined) this.add({ url, title: asString(each.title), start: offset(each.startIndex), end: offset(each.endIndex) })
    }
  }

  /**
   * Annotations for a text that ends: those whose place is surely in it, or all that are left.
   * @param last true where no more text follows.
   */
  take(text: string, last: boolean): JsonObject[] {
    if (last && !this.placed) for (const chunk of this.chunks) this.addUnplaced(chunk)
    if (this.waiting.length === 0) return []
    const bytes = Buffer.from(text, 'utf8')
    const taken: JsonObject[] = []
    const left: Citation[] = []
    for (const citation of this.waiting) {
      const place = citationPlace(citation, bytes) ?? (last ? byOffsets(citation, bytes) : undefined)
      if (place) taken.push(annotation(citation, unitsUpTo(bytes, place.start), unitsUpTo(bytes, place.end)))
      else if (last) taken.push(annotation(citation, 0, 0))
      else left.push(citation)
    }
    this.waiting = left
    return taken
  }

  /** True where sources have been reported that no text has taken. */
  get left(): boolean {
    return this.waiting.length > 0 || (!this.placed && this.chunks.length > 0)
  }

  private add(citation: Citation): void {
    this.placed = true
    const key = `${citation.start} ${citation.end} ${citation.url}`
    if (this.known.has(key)) return
    this.known.add(key)
    this.waiting.push(citation)
  }

  private addUnplaced(chunk: JsonObject): void {
    const source = chunkSource(chunk)
    if (source) this.waiting.push(source)
  }
}

/** The offsets of a citation, if they lie in the text. */
function byOffsets({ start, end }: Citation, bytes: Buffer): { start: number; end: number } | undefined {
  return start !== undefined && end !== undefined && start <= end && end <= bytes.length ? { start, end } : undefined
}

/** Place of a citation in a text: at its offsets if the words agree, else where the words are; undefined where they are not. */
function citationPlace(citation: Citation, bytes: Buffer): { start: number; end: number } | undefined {
  const atOffsets = byOffsets(citation, bytes)
  const { start, words } = citation
  if (words === undefined || words === '' || start === undefined) return atOffsets
  const wanted = Buffer.from(words, 'utf8')
  if (atOffsets && bytes.subarray(atOffsets.start, atOffsets.end).equals(wanted)) return atOffsets
  const at = bytes.indexOf(wanted)
  return at === -1 ? undefined : { start: at, end: at + wanted.length }
}
