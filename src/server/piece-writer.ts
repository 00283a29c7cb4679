/** A long body in pieces, written as fast as the caller takes them. */
import type { ServerResponse } from 'node:http'

/** The head has been written, with the length of all pieces together. */
export function writePieces(response: ServerResponse, pieces: readonly Buffer[]): void {
  let next = 0
  const pump = (): void => {
    while (next < pieces.length) {
      if (response.destroyed) return
      if (!response.write(pieces[next++]) && next < pieces.length) {
        response.once('drain', pump)
        return
      }
    }
    response.end()
  }
  pump()
}
