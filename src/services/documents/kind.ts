/** The kind of a document: by its first bytes, else its declared type, else the extension of its name. */
import { isUtf8 } from 'node:buffer'
import type { DocumentKind, DocumentSource } from './types.ts'

const EXTENSIONS: Readonly<Record<string, DocumentKind>> = {
  htm: 'html',
  html: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
}
/** Types of plain text beside `text/*` and what ends in `+json` or `+xml`. */
const TEXTS = new Set(
  [
    'json json5 jsonc ld+json ndjson x-ndjson jsonl xml javascript x-javascript ecmascript typescript sql graphql toml x-toml',
    'yaml x-yaml csv x-csv markdown x-sh x-tex rtf x-httpd-php x-python x-subrip',
  ].flatMap((line) => line.split(' ').map((name) => `application/${name}`)),
)
/** Types that say nothing about the content. */
const VAGUE = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/unknown', 'application/binary'])

/** The media type in lower case, without parameters. */
export function plainMediaType({ type }: DocumentSource): string {
  return (type ?? '').replace(/;.*$/s, '').trim().toLowerCase()
}

/** @returns undefined where it is nothing that can be read. */
export function documentKind(bytes: Uint8Array, source: DocumentSource): DocumentKind | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1024))
  // Readers of PDF take the mark anywhere in the first kilobyte; a text may contain it as well.
  const mark = head.indexOf('%PDF-')
  if (mark === 0 || (mark > 0 && !declared(plainMediaType(source)))) return 'pdf'
  if (head.length >= 4 && head.readUInt32BE(0) === 0x504b0304) return isDocx(bytes) ? 'docx' : undefined
  if (isBinary(head)) return undefined
  return declared(plainMediaType(source)) ?? (isVague(source) ? guessed(bytes, head, source) : undefined)
}

const isVague = (source: DocumentSource): boolean => VAGUE.has(plainMediaType(source))

/** PDF and docx are recognized by their bytes alone. */
function declared(type: string): DocumentKind | undefined {
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type.startsWith('text/') || TEXTS.has(type) || /^(?:application|image)\/[^/]+\+(?:json|xml)$/.test(type)) return 'text'
  return undefined
}

function guessed(bytes: Uint8Array, head: Buffer, { name, url }: DocumentSource): DocumentKind | undefined {
  const path = name ?? (url === undefined ? '' : (URL.parse(url)?.pathname ?? ''))
  const [, extension = ''] = /\.([a-z0-9]+)$/i.exec(path) ?? []
  const kind = EXTENSIONS[extension.toLowerCase()]
  if (
    kind === 'html' ||
    /^(?:\ufeff|\s|<!--[\s\S]*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b/i.test(head.toString('latin1').replace(/^ï»¿/, ''))
  )
    return 'html'
  if (kind !== undefined) return undefined
  return hasMark(head) || isUtf8(bytes) ? 'text' : undefined
}

/** A byte order mark: UTF-8, or UTF-16 of either kind. */
function hasMark(head: Buffer): boolean {
  const two = head.length >= 2 ? head.readUInt16BE(0) : 0
  return two === 0xfeff || two === 0xfffe || (two === 0xefbb && head[2] === 0xbf)
}

/** Control characters that no text has; UTF-16 has zeros, and says so by its mark. */
function isBinary(head: Buffer): boolean {
  if (hasMark(head)) return false
  return head.some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b))
}

function isDocx(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes('word/document')
}
