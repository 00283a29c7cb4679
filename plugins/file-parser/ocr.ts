/** The service that reads scans: the OCR API of Mistral, which others speak as well. */
import { type Cancel, type Clock, callService, isObject, type Json, type JsonObject } from '../../src/plugin-api/index.ts'

export interface OcrAccount {
  /** Address of the service, in front of `/v1/ocr`. */
  url: string
  /** '' where it wants none. */
  key: string
  model: string
  /** Nano-dollars per thousand pages. */
  thousand: number
  /** Of one file. */
  maxPages: number
}

/** Images of one document that go on to the model (docs/contract.md#plugins). */
const MAX_IMAGES = 8
const TIMEOUT = 100_000
/** Bytes of an answer that are read. */
const CAP = 48 * 1024 * 1024

export interface OcrText {
  /** Markdown of all pages. */
  text: string
  /** Data URLs. */
  images: string[]
  /** Units that the service counts. */
  pages: number
}

/** @param document data URL of a PDF. @throws Error with a word for the log: nothing that the service said. */
export async function readScan(
  document: string,
  account: OcrAccount,
  { clock, cancel }: { clock: Clock; cancel: Cancel },
): Promise<OcrText> {
  const { url, key, model } = account
  const answer = await callService(
    {
      url: `${url}/v1/ocr`,
      headers: { 'user-agent': 'headgate', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
      body: {
        model,
        document: { type: 'document_url', document_url: document },
        include_image_base64: true,
        image_limit: MAX_IMAGES,
      },
    },
    { clock, timeout: TIMEOUT, cap: CAP, onAbort: (fn) => cancel.onAbort(fn) },
  )
  if (!isObject(answer) || !Array.isArray(answer.pages)) throw new Error('unreadable')
  const pages = answer.pages.filter(isObject)
  const usage = isObject(answer.usage_info) ? answer.usage_info.pages_processed : undefined
  return {
    text: pages.map(({ markdown }) => (typeof markdown === 'string' ? markdown : '')).join('\n\n'),
    images: pages.flatMap(pageImages).slice(0, MAX_IMAGES),
    pages: typeof usage === 'number' && Number.isInteger(usage) && usage >= 0 ? usage : pages.length,
  }
}

function pageImages({ images }: JsonObject): string[] {
  return (Array.isArray(images) ? images : []).flatMap((image: Json) => {
    const url = isObject(image) ? image.image_base64 : undefined
    if (typeof url !== 'string' || url === '') return []
    return [url.startsWith('data:') ? url : `data:image/jpeg;base64,${url}`]
  })
}

/** Nano-dollars of so many pages, never less than what they cost. */
export function pagesPrice(pages: number, { thousand }: OcrAccount): number {
  return Math.ceil((pages * thousand) / 1000)
}
