/** The text of a PDF, page by page. */
import { getDocumentProxy } from 'unpdf'
import { Refusal } from '../threads/index.ts'
import { filledIn } from './pdf-fields.ts'
import { cleanTitle, cut } from './texts.ts'
import type { ReadJob, ReadResult } from './types.ts'

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

export async function readPdf({ bytes, maxPages, maxCharacters }: ReadJob): Promise<ReadResult> {
  const pdf = await opened(bytes)
  try {
    const pageTexts: string[] = []
    let left = maxCharacters
    const most = Math.min(pdf.numPages, maxPages)
    for (let number = 1; number <= most && left > 0; number++) {
      const { text } = cut(await pageText(pdf, number), left)
      pageTexts.push(text)
      left -= text.length
    }
    const truncated = left <= 0 || pageTexts.length < pdf.numPages
    return { title: await titleIn(pdf), text: '', pages: pdf.numPages, pageTexts, ...(truncated ? { truncated } : {}) }
  } finally {
    await pdf.cleanup()
  }
}

async function opened(data: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(data, { verbosity: 0, disableFontFace: true, useSystemFonts: false })
  } catch (thrown) {
    throw new Refusal(thrown instanceof Error && thrown.name === 'PasswordException' ? 'encrypted' : 'broken')
  }
}

/** One broken page does not lose the others. */
async function pageText(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number)
    const { items } = await page.getTextContent()
    const filled = await filledIn(page)
    page.cleanup()
    const text = items
      .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
      .join('')
      .replace(/[ \t]+\n/g, '\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
    return filled === '' ? text : `${text}\n\n${filled}`.trim()
  } catch {
    return ''
  }
}

async function titleIn(pdf: Pdf): Promise<string | undefined> {
  try {
    const { info } = await pdf.getMetadata()
    return 'Title' in info ? cleanTitle(info.Title) : undefined
  } catch {
    return undefined
  }
}
