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

/** How base64 of a PDF begins. */
const PDF = 'JVBERi'
const URL_FORM = /^(?:data|https?|gs|s3):/i

/**
 * @param data a URL, a data URL or bare base64.
 * @param name the file's name, which tells the type of bare base64.
 */
export function fileUrl(data: string, name: string | undefined): string {
  if (URL_FORM.test(data)) return data
  const type = TYPES[name?.slice(name.lastIndexOf('.') + 1).toLowerCase() ?? '']
  return `data:${type ?? (data.startsWith(PDF) ? 'application/pdf' : 'application/octet-stream')};base64,${data}`
}

/** Plain text as a data URL. */
export function textUrl(text: string): string {
  return `data:text/plain;base64,${Buffer.from(text, 'utf8').toString('base64')}`
}

/** Name of a plain text file that has none: some providers tell the type by it. */
export const TEXT_NAME = 'document.txt'
