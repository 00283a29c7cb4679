/**
 * Text that was filled into a page of a PDF: values of its form fields, and notes that stand on it as text. The page's text has neither, though
 * each reader of the page sees them (ISO 32000-1, sections 12.5.6.6 and 12.7; the names are those of PDF.js's `getAnnotations`).
 */
import type { getDocumentProxy } from 'unpdf'

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>

/** An annotation as PDF.js has it. */
interface Annotation {
  readonly subtype?: unknown
  readonly annotationFlags?: number
  /** Left, bottom, right, top. */
  readonly rect?: readonly number[]
  readonly fieldType?: unknown
  readonly fieldName?: unknown
  readonly alternativeText?: unknown
  readonly fieldValue?: unknown
  readonly checkBox?: unknown
  readonly radioButton?: unknown
  readonly buttonValue?: unknown
  readonly exportValue?: unknown
  readonly password?: unknown
  readonly contentsObj?: { readonly str?: unknown }
}

/** Of one page. */
const MAX_LINES = 2_000

/** The flags Hidden and NoView (ISO 32000-1, table 165). */
const UNSEEN = 0b10_0010

/** From the top of the page down, as a reader goes. */
const byPlace = ({ rect: [, , , a = 0] = [] }: Annotation, { rect: [, , , b = 0] = [] }: Annotation): number => b - a

const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** A readable line for each field that is filled and each note; '' where there is none. */
export async function filledIn(page: Page): Promise<string> {
  const lines: string[] = []
  const annotations = ((await page.getAnnotations()) as Annotation[]).filter(({ annotationFlags: flags = 0 }) => (flags & UNSEEN) === 0)
  for (const annotation of annotations.sort(byPlace)) {
    const line = annotationLine(annotation)
    if (line !== undefined && lines.push(line) === MAX_LINES) break
  }
  return lines.join('\n')
}

function annotationLine(annotation: Annotation): string | undefined {
  if (annotation.subtype === 'FreeText') {
    const note = text(annotation.contentsObj?.str)
    return note === '' ? undefined : `[Note: ${note}]`
  }
  if (annotation.subtype !== 'Widget') return undefined
  const value = fieldText(annotation)
  const name = text(annotation.alternativeText) || text(annotation.fieldName)
  return value === '' ? undefined : `[${name || 'Field'}: ${value}]`
}

function fieldText({ fieldType, fieldValue, checkBox, radioButton, buttonValue, exportValue, password }: Annotation): string {
  // A reader sees dots.
  if (password === true) return ''
  if (fieldType === 'Tx' || fieldType === 'Ch')
    return Array.isArray(fieldValue)
      ? fieldValue
          .map(text)
          .filter((each) => each !== '')
          .join(', ')
      : text(fieldValue)
  if (fieldType !== 'Btn') return ''
  if (checkBox === true) return text(fieldValue) !== '' && fieldValue === exportValue ? 'checked' : 'not checked'
  return radioButton === true && text(buttonValue) !== '' && fieldValue === buttonValue ? text(buttonValue) : ''
}
