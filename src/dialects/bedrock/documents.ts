/** Media of a request as blocks: bytes alone, since the service fetches nothing from the web. */
import { type JsonObject, present } from '../../core/json.ts'
import { parseDataUrl } from '../canon/file-url.ts'
import { nativeObject } from '../canon/native.ts'
import type { Part } from '../canon/request.ts'

type Media = Extract<Part, { kind: 'media' }>

/** `DocumentFormat`, `ImageFormat`, `VideoFormat` and `AudioFormat` by the types and endings that callers name. */
const DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
  ['text/x-markdown', 'md'],
  ['text/plain', 'txt'],
])
const DOCUMENT_FORMATS: ReadonlySet<string> = new Set(DOCUMENTS.values())
/** Text of other kinds is plain text to the service. */
const TEXTS = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|typescript|x-sh|sql)|.*\+(json|xml)$)/

const IMAGES: ReadonlyMap<string, string> = new Map([
  ['png', 'png'],
  ['jpeg', 'jpeg'],
  ['jpg', 'jpeg'],
  ['gif', 'gif'],
  ['webp', 'webp'],
])
const VIDEOS: ReadonlyMap<string, string> = new Map([
  ...['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv'].map((name) => [name, name] as const),
  ['x-matroska', 'mkv'],
  ['quicktime', 'mov'],
  ['x-flv', 'flv'],
  ['x-ms-wmv', 'wmv'],
  ['3gpp', 'three_gp'],
  ['3gp', 'three_gp'],
])
const AUDIO: ReadonlyMap<string, string> = new Map([
  ...['mp3', 'opus', 'wav', 'aac', 'flac', 'mp4', 'ogg', 'mkv', 'mka', 'x-aac', 'm4a', 'mpeg', 'mpga', 'pcm', 'webm'].map(
    (name) => [name, name] as const,
  ),
  ['pcm16', 'pcm'],
  ['x-wav', 'wav'],
])

/** Base64 of `%PDF`. */
const PDF_HEAD = 'JVBERi'

const fileEnding = (name: string | undefined): string => /\.([a-z0-9]{1,8})$/i.exec(name ?? '')?.[1]?.toLowerCase() ?? ''

/** Formats whose text the service extracts itself: no cache point may follow such a document (github.com/aws/aws-sdk-java-v2/issues/6277). */
export function isExtracted(block: JsonObject): boolean {
  const { document } = block
  return typeof document === 'object' && document !== null && !Array.isArray(document) && document.format !== 'pdf'
}

/** An object in S3, which the service reads with the rights of the operator's account: only where the endpoint's data allow it. */
function s3Source(url: string | undefined, allowed: boolean): JsonObject | undefined {
  return allowed && url !== undefined && /^s3:\/\//i.test(url) ? { s3Location: { uri: url } } : undefined
}

interface Bytes {
  readonly type: string
  readonly data: string
}

function mediaBytes({ url, data, format, media }: Media): Bytes | undefined {
  if (url !== undefined) return parseDataUrl(url)
  if (data === undefined) return undefined
  if (format === 'text') return { type: 'text/plain', data: Buffer.from(data, 'utf8').toString('base64') }
  return parseDataUrl(data) ?? { type: format === undefined ? '' : media === 'file' ? format : `${media}/${format}`, data }
}

/**
 * Names of documents: letters, digits, single spaces, hyphens, parentheses and square brackets, at most 200, and no two alike in one
 * request (DocumentBlock; github.com/vercel/ai/issues/20365, anomalyco/opencode/pull/48756).
 */
class DocumentNames {
  private readonly taken = new Set<string>()

  of(name: string | undefined): string {
    const plain = (name ?? '')
      .replace(/\.[A-Za-z0-9]{1,8}$/, '')
      .replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim()
    const base = plain.slice(0, MAX_NAME).trim() || 'document'
    let unique = base
    for (let number = 2; this.taken.has(unique.toLowerCase()); number++) unique = `${base} ${number}`
    this.taken.add(unique.toLowerCase())
    return unique
  }
}

/** Room for a number behind it. */
const MAX_NAME = 190

export class MediaWriter {
  private readonly dropped: Set<string>
  private readonly readsS3: boolean
  private readonly names = new DocumentNames()

  constructor(dropped: Set<string>, readsS3: boolean) {
    this.dropped = dropped
    this.readsS3 = readsS3
  }

  /** @returns undefined where the wire cannot say it; its name is then in `dropped`. */
  block(part: Media): JsonObject | undefined {
    const name = `input_${part.media}`
    if (part.detail !== undefined && part.detail !== 'auto') this.dropped.add(`${name}.detail`)
    const block = part.media === 'file' ? this.file(part) : this.medium(part, part.media)
    if (block === undefined) this.dropped.add(name)
    return block
  }

  private medium(part: Media, media: 'image' | 'video' | 'audio'): JsonObject | undefined {
    const formats = media === 'image' ? IMAGES : media === 'video' ? VIDEOS : AUDIO
    const bytes = mediaBytes(part)
    const source = bytes ? { bytes: bytes.data } : s3Source(part.url, this.readsS3)
    const stated = bytes?.type.replace(/^\w+\//, '') || part.format || fileEnding(part.url) || fileEnding(part.name)
    const format = formats.get(stated.toLowerCase()) ?? (stated === '' && media === 'image' ? 'png' : undefined)
    return source && format !== undefined ? { [media]: { format, source } } : undefined
  }

  private file(part: Media): JsonObject | undefined {
    const bytes = mediaBytes(part)
    if (bytes?.type.startsWith('image/')) return this.medium(part, 'image')
    const s3 = bytes ? undefined : s3Source(part.url, this.readsS3)
    const format = documentFormat(bytes, part)
    if ((bytes ?? s3) === undefined || format === undefined) return undefined
    // Where citations are off, the service takes no text; where they are on, no bytes of one (boto3 issue 4726, harness-sdk pull 3582).
    const { citations, context } = nativeObject(part, 'messages') ?? {}
    const isCited = typeof citations === 'object' && citations !== null && !Array.isArray(citations) && citations.enabled === true
    const plain = isCited && bytes && format === 'txt'
    const source = s3 ?? (plain ? { text: Buffer.from(bytes.data, 'base64').toString('utf8') } : { bytes: bytes?.data ?? '' })
    const given = typeof context === 'string' && context !== '' ? context : undefined
    const own = { context: given, citations: isCited ? { enabled: true } : undefined }
    return { document: present({ format, name: this.names.of(part.name), source, ...own }) }
  }
}

function documentFormat(bytes: Bytes | undefined, { url, name }: Media): string | undefined {
  const type = bytes?.type ?? ''
  const known = DOCUMENTS.get(type)
  if (known !== undefined && known !== 'txt') return known
  if (bytes?.data.startsWith(PDF_HEAD)) return 'pdf'
  const ending = fileEnding(name) || (bytes ? '' : fileEnding(url))
  if (DOCUMENT_FORMATS.has(ending)) return ending
  return known ?? (TEXTS.test(type) ? 'txt' : undefined)
}
