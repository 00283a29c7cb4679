/** Commands of the command line: sent to the running gateway, and done on its store where none runs. */
import { json } from 'node:stream/consumers'
import { type Bookkeeping, openBookkeeping } from '../cluster/bookkeeping.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { requestAdmin } from './admin-request.ts'

/** Milliseconds. */
const LONGEST_COMMAND = 30_000

/**
 * @param path of the admin listener's route.
 * @returns undefined where no gateway listens. @throws Error with the message of the gateway's refusal.
 */
export async function askOwner(path: string, command: object, config: Pick<Config, 'admin'>): Promise<JsonObject | undefined> {
  const reply = await requestAdmin({ method: 'POST', path, body: { ...command }, limit: LONGEST_COMMAND }, config)
  if (!reply) return undefined
  const body: unknown = await json(reply)
  if (!isObject(body)) throw new Error('the admin listener sent no answer of a gateway')
  return body
}

/** Opens the store itself: where another process owns its file, the error says so. @throws Fault `unavailable`. */
export async function onStore<T>(config: Config, work: (bookkeeping: Bookkeeping) => Promise<T>): Promise<T> {
  if (config.store.url === 'memory:') throw new Fault('unavailable', { message: 'no gateway runs, and its store is kept in memory only' })
  const bookkeeping = await openBookkeeping({ ...config.store, clock: systemClock, aside: true, report: () => {} })
  try {
    return await work(bookkeeping)
  } finally {
    await bookkeeping.close()
  }
}
