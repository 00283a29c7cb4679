/** Databases of one PostgreSQL, each with the time of its own clock. */
import { threadId } from 'node:worker_threads'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import { queryIn } from '../postgres.ts'
import { clocked } from '../postgres-clock.ts'
import type { OpenMarket } from './many.ts'
import { Market, WallClock } from './market.ts'

/** @param url of a database of the server: each store is one of its own, which goes when it is closed. */
export function opener(url: string): () => Promise<OpenMarket> {
  let databases = 0
  return async () => {
    const clock = new WallClock()
    const name = `lives_${threadId}_${++databases}`
    await queryIn(url, `CREATE DATABASE ${name}`)
    const own = Object.assign(new URL(url), { pathname: `/${name}` }).href
    const record = await clocked(await openPostgres(own, { clock }), clock, { query: queryIn }, own)
    // Each process ends its way to the record; the connections are shared.
    const way = new Proxy(record, { get: (target, name) => (name === 'close' ? async () => {} : Reflect.get(target, name, target)) })
    return {
      market: new Market(record, clock, () => ({ record: way, gone: () => {} })),
      ledger: record.ledger,
      close: async () => {
        await record.close()
        await queryIn(url, `DROP DATABASE ${name} WITH (FORCE)`)
      },
    }
  }
}
