/** The body of a reply, which is cut where a chat stream has failed. */

/** The last event of a chat stream that has failed. The gateway ends no other body so; test/server/failed-streams.test.ts looks at its end. */
const FAILURE = /(?:^|\n\n)data: \{"error":\{[^\n]*\n\n$/

/** @param onText called with all that has come, at each piece. */
export async function bodyText(response: Response, onText?: (text: string) => void): Promise<string> {
  return (await readBody(response, onText)).text
}

/** Reads a body to its end. One that ends with the failure of a chat stream is left there, as clients leave it: its cut comes later. */
export async function readBody(response: Response, onText?: (text: string) => void): Promise<{ text: string; isCut: boolean }> {
  const pieces: Uint8Array[] = []
  let text = ''
  for await (const piece of response.body ?? []) {
    pieces.push(piece)
    text = Buffer.concat(pieces).toString()
    onText?.(text)
    if (FAILURE.test(text)) return { text, isCut: true }
  }
  return { text, isCut: false }
}

/** Has `text()` of a reply read a body that is cut behind the failure of a chat stream, as `bodyText`. */
export async function cutReadable(reply: Promise<Response>): Promise<Response> {
  const response = await reply
  Object.defineProperty(response, 'text', { value: () => bodyText(response) })
  return response
}
