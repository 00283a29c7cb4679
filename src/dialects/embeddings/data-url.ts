/** The two halves of a data URL (RFC 2397) that holds base64. */

const FORM = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+=-]+)*;base64,/i

/** @returns undefined for any other address. */
export function dataOf(url: string | undefined): { mimeType: string; data: string } | undefined {
  const head = url === undefined ? null : FORM.exec(url.slice(0, 256))
  return head && url !== undefined ? { mimeType: head[1].toLowerCase(), data: url.slice(head[0].length) } : undefined
}
