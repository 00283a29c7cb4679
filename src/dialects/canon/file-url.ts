/** Files as URLs: wires differ in whether they write a data URL, bare base64 or plain text. */

const TYPES: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
}

/** Beginning of base64 of a PDF. */
const PDF = 'JVBERi'
const URL_FORM = /^(?:data|https?|gs|s3):/i

/**
 * @param data a URL, a data URL or bare base64.
 * @param name the file's name, from which the type of bare base64 is taken.
 */
export function fileUrl(data: string, name: string | undefined): string {
  if (URL_FORM.test(data)) return data
  const type = TYPES[name?.slice(name.lastIndexOf('.') + 1).toLowerCase() ?? '']
  return `data:${type ?? (data.startsWith(PDF) ? 'application/pdf' : 'application/octet-stream')};base64,${data}`
}

/** A data URL in its pieces: the media type in lower case, empty where it states none, and the data as base64. */
export interface DataUrl {
  readonly type: string
  readonly data: string
}

/**
 * Undefined for any other address. Text that is not base64 is percent-decoded byte by byte, as browsers do (Fetch Standard,
 * "data: URL processor"; URL Standard, "percent-decode").
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (!/^data:/i.test(url)) return undefined
  const comma = url.indexOf(',')
  if (comma === -1) return undefined
  const [type = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  const rest = url.slice(comma + 1)
  if (parameters.some((each) => each.trim() === 'base64')) return { type, data: rest }
  return { type, data: Buffer.from(percentDecoded(rest), 'latin1').toString('base64') }
}

/** Bytes of percent-encoded text, one per character. */
function percentDecoded(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Plain text as a data URL. */
export function textUrl(text: string): string {
  return `data:text/plain;base64,${Buffer.from(text, 'utf8').toString('base64')}`
}

/** Name of a plain text file that has none: some providers take the type from it. */
export const TEXT_NAME = 'document.txt'
