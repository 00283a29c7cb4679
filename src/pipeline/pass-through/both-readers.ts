/** Two readers of one reply: what it cost, and which ids it gives. */
import type { ReplyReader } from '../../services/upstream/pass-through.ts'

export function both(first: ReplyReader, second: ReplyReader): ReplyReader {
  return {
    head: (status, headers) => {
      first.head(status, headers)
      second.head(status, headers)
    },
    data: (chunk) => {
      first.data(chunk)
      second.data(chunk)
    },
  }
}
