/** The files of a request: where they stand, and their bytes. */
import { createHash } from 'node:crypto'
import { badField, type CanonicalRequest, Fault, type Item, type Part } from '../../src/plugin-api/index.ts'

export type FilePart = Extract<Part, { kind: 'media' }>

/** Bytes of one file. */
export const MAX_BYTES = 20 * 1024 * 1024
const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*?)(;base64)?,/
/** Bytes hashed before others have their turn. */
const PIECE = 2 * 1024 * 1024

export interface FileBytes {
  bytes: Buffer
  type: string
  /** As the caller sent it, where it was one. */
  dataUrl: string | undefined
}

export function filesIn({ items }: CanonicalRequest): FilePart[] {
  return items.flatMap((item) => (item.kind === 'message' || item.kind === 'result' ? item.parts.filter(isFile) : []))
}

export function isFile(part: Part): part is FilePart {
  return part.kind === 'media' && part.media === 'file'
}

/** Puts other parts in the place of files. */
export function replaced(item: Item, parts: ReadonlyMap<FilePart, readonly Part[]>): Item {
  if ((item.kind !== 'message' && item.kind !== 'result') || !item.parts.some(isFile)) return item
  return {
    ...item,
    parts: item.parts.flatMap((part) => {
      const others = isFile(part) ? parts.get(part) : undefined
      if (!others) return [part]
      const { cache } = part as FilePart
      const last = others.at(-1)
      return cache && last && last.kind === 'text' ? [...others.slice(0, -1), { ...last, cache }] : others
    }),
  }
}

/** Of a file, as far as a PDF may begin; in base64 a third longer. */
const BEGINNING = 1400
const PDF_MARK = '%PDF-'

/** False where it is certain that no service for scans will be called. */
export function mayBePdf({ url = '', data }: FilePart): boolean {
  if (data !== undefined) return data.slice(0, BEGINNING).includes(PDF_MARK)
  const [head = '', declared = '', , base64] = DATA_URL.exec(url.slice(0, 2000)) ?? []
  if (declared === '' || /pdf|octet-stream/i.test(declared)) return true
  // The bytes decide, not the type that the caller wrote in front of them.
  const start = url.slice(head.length, head.length + BEGINNING)
  return (base64 ? Buffer.from(start, 'base64').toString('latin1') : unescaped(start)).includes(PDF_MARK)
}

/** Identity of a file: its address where it has one, so that it need not be fetched to be known. */
export async function hashPart(part: FilePart, file: FileBytes | undefined): Promise<string> {
  const hash = createHash('sha256')
  if (!file) return hash.update(part.url ?? '').digest('hex')
  for (let at = 0; at < file.bytes.length; at += PIECE) {
    hash.update(file.bytes.subarray(at, at + PIECE))
    if (at + PIECE < file.bytes.length) await new Promise((resolve) => setImmediate(resolve))
  }
  return hash.digest('hex')
}

/** @returns undefined for a file that has to be fetched. @throws Fault 400, 413. */
export function inlineBytes({ url, data, fileId }: FilePart): FileBytes | undefined {
  if (data !== undefined) return { bytes: Buffer.from(data, 'utf8'), type: 'text/plain', dataUrl: undefined }
  if (url === undefined) {
    const why = fileId === undefined ? 'it holds nothing' : 'only its provider knows the id; expected the file itself, or one of /v1/files'
    throw new Fault('bad_request', { message: `it cannot be read: ${why}` })
  }
  if (!url.startsWith('data:')) return undefined
  const [head = '', type = '', , base64] = DATA_URL.exec(url.slice(0, 2000)) ?? []
  if (head === '') throw badField('file_data', 'expected a data URL')
  if ((url.length - head.length) * (base64 ? 0.75 : 1) > MAX_BYTES * 1.01) throw tooLarge()
  const bytes = base64 ? Buffer.from(url.slice(head.length), 'base64') : Buffer.from(unescaped(url.slice(head.length)), 'utf8')
  if (bytes.length > MAX_BYTES) throw tooLarge()
  return { bytes, type, dataUrl: base64 ? url : undefined }
}

function tooLarge(): Fault {
  return new Fault('too_large', { message: `it is larger than ${MAX_BYTES} bytes` })
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
