/** The body of a reply that may end without having come to its end. */

/**
 * @returns the text of the body. One that was cut is accepted where its last event is the failure of a chat stream: the gateway ends no other
 * body so.
 */
export async function bodyText(response: Response, onText?: (text: string) => void): Promise<string> {
  const { text, isCut } = await readBody(response, onText)
  if (isCut && !/(?:^|\n\n)data: \{"error":\{[^\n]*\n\n$/.test(text)) throw new Error(`the body was cut behind: ${text.slice(-300)}`)
  return text
}

/** Reads a body as far as it comes. @param onText called with all of it at each piece. */
export async function readBody(response: Response, onText?: (text: string) => void): Promise<{ text: string; isCut: boolean }> {
  const pieces: Uint8Array[] = []
  let isCut = false
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece)
      onText?.(Buffer.concat(pieces).toString())
    }
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    isCut = true
  }
  return { text: Buffer.concat(pieces).toString(), isCut }
}
