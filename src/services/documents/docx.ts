/** A document of a word processor (ECMA-376), by way of HTML. */
import mammoth from 'mammoth'
import { cut, titleOf } from './cut.ts'
import { markdownOf } from './markdown.ts'
import { pageOf, withAbsoluteLinks } from './page-tree.ts'
import { tidied } from './tidy.ts'
import type { ReadJob, ReadResult } from './types.ts'
import { checkZip } from './zip.ts'

const LIMITS = { entries: 2000, bytes: 64 * 1024 * 1024 }

export async function readDocx({ bytes, source, maxCharacters }: ReadJob): Promise<ReadResult> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  checkZip(buffer, LIMITS)
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false })
  const page = pageOf(tidied(value))
  withAbsoluteLinks(page, source.url)
  return { title: titleOf(page.querySelector('h1')?.textContent), ...cut(markdownOf(page.body), maxCharacters) }
}

/** Images are left out; their alternative texts are kept. */
const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
