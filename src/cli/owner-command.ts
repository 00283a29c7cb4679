/** Commands of the command line: sent to the running gateway, and done on its store where none runs. */
import { type Bookkeeping, openBookkeeping } from '../cluster/bookkeeping.ts'
import type { Config } from '../config/types.ts'
import { systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'

/**
 * @param path of the admin listener's route.
 * @returns undefined where nobody listens. @throws Error with what the gateway said against it.
 */
export async function askOwner(path: string, command: object, { admin }: Pick<Config, 'admin'>): Promise<JsonObject | undefined> {
  const address = `http://${admin.host.includes(':') ? `[${admin.host}]` : admin.host}:${admin.port}`
  let response: Response
  try {
    response = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(command),
      signal: AbortSignal.timeout(30_000),
    })
  } catch {
    return undefined
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok && isObject(body)) return body
  const said = isObject(body) && isObject(body.error) ? body.error.message : `status ${response.status}, which is no answer of a gateway`
  throw new Error(`${address} refused: ${said}`)
}

/** Opens the store itself: where another process owns its file, that is said. @throws Fault `unavailable`. */
export async function onStore<T>(config: Config, work: (books: Bookkeeping) => Promise<T>): Promise<T> {
  if (config.store.url === 'memory:') throw new Fault('unavailable', { message: 'no gateway runs, and its store is kept in memory only' })
  const books = await openBookkeeping({ ...config.store, clock: systemClock, aside: true, report: () => {} })
  try {
    return await work(books)
  } finally {
    await books.close()
  }
}
