/** A client of HTTP on a Unix socket. */
import { Agent, fetch as undiciFetch } from 'undici'

export function socketFetch(path: string): { fetch: typeof fetch; close: () => Promise<void> } {
  const dispatcher = new Agent({ connect: { socketPath: path } })
  return {
    fetch: ((url: string, init: object = {}) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch,
    close: () => dispatcher.destroy(),
  }
}
