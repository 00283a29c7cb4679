/** The two halves of a data URL (RFC 2397) that holds base64. */

const FORM = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+=-]+)*;base64,/i

/** @returns undefined for any other address. */
export function parseDataUrl(url: string | undefined): { mimeType: string; data: string } | undefined {
  if (url === undefined) return undefined
  const [head, type] = FORM.exec(url.slice(0, 256)) ?? []
  return head !== undefined && type !== undefined ? { mimeType: type.toLowerCase(), data: url.slice(head.length) } : undefined
}
