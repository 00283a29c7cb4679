/** A document of a word processor (ECMA-376), by way of HTML, once what its zip holds has been checked. */

import { inflateRawSync } from 'node:zlib'
import mammoth from 'mammoth'
import { Refusal } from '../threads/index.ts'
import { toMarkdown } from './markdown.ts'
import { parsePage, withAbsoluteLinks } from './page-tree.ts'
import { cleanTitle, cut } from './texts.ts'
import { tidyHtml } from './tidy.ts'
import type { ReadJob, ReadResult } from './types.ts'

const LIMITS = { entries: 2000, bytes: 64 * 1024 * 1024 }

export async function readDocx({ bytes, source, maxCharacters }: ReadJob): Promise<ReadResult> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  checkZip(buffer, LIMITS)
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false })
  const page = parsePage(tidyHtml(withBoxes(value)))
  withAbsoluteLinks(page, source.url)
  return { title: cleanTitle(page.querySelector('h1')?.textContent), ...cut(toMarkdown(page.body), maxCharacters) }
}

/** Boxes that a person has ticked, or not, as the characters that word processors show. mammoth escapes `<` in texts. */
function withBoxes(html: string): string {
  return html.replace(/<input\b[^>]*type="checkbox"[^>]*>/g, (box) => (/\bchecked\b/.test(box) ? '☒ ' : '☐ '))
}

/** Images are left out; their alternative texts are kept. */
const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))

interface ZipLimits {
  entries: number
  /** Bytes of all entries together, unpacked. */
  bytes: number
}

const END = 0x06054b50
const CENTRAL = 0x02014b50
const LOCAL = 0x04034b50
const STORED = 0
const DEFLATED = 8

/**
 * Unpacks each entry and discards the bytes, to check the sizes that the directory states (APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12
 * and 4.3.16), before a reader unpacks it.
 * @throws Refusal `bomb` where it holds too much or more than it says, `broken` where it is no such zip.
 */
export function checkZip(zip: Buffer, limits: ZipLimits): void {
  let total = 0
  for (const { packed, size, method } of zipEntries(zip, limits.entries)) {
    total += size
    if (total > limits.bytes) throw new Refusal('bomb')
    if (method === STORED ? packed.length !== size : unpackedSize(packed, size) !== size) throw new Refusal('broken')
  }
}

interface Entry {
  packed: Buffer
  /** Bytes, as the directory says. */
  size: number
  method: number
}

function* zipEntries(zip: Buffer, most: number): Generator<Entry> {
  const mark = Buffer.alloc(4)
  mark.writeUInt32LE(END)
  const end = zip.lastIndexOf(mark)
  if (end < 0 || end + 22 > zip.length) throw new Refusal('broken')
  const count = zip.readUInt16LE(end + 10)
  if (count > most) throw new Refusal('bomb')
  let at = zip.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== CENTRAL) throw new Refusal('broken')
    const method = zip.readUInt16LE(at + 10)
    const [length, size] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)]
    const local = zip.readUInt32LE(at + 42)
    const encrypted = (zip.readUInt16LE(at + 8) & 1) === 1
    // All ones stand for the sizes of zip64, which no document of this kind needs.
    if (length === 0xffffffff || size === 0xffffffff) throw new Refusal('bomb')
    if (encrypted) throw new Refusal('encrypted')
    if (method !== STORED && method !== DEFLATED) throw new Refusal('broken')
    if (local + 30 > zip.length || zip.readUInt32LE(local) !== LOCAL) throw new Refusal('broken')
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    if (start + length > zip.length) throw new Refusal('broken')
    yield { packed: zip.subarray(start, start + length), size, method }
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
}

function unpackedSize(packed: Buffer, size: number): number {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) }).length
  } catch (thrown) {
    throw new Refusal((thrown as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'bomb' : 'broken')
  }
}
