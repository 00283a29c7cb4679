/** Gateways of two schema versions on one database: its state, and requests that all of them serve meanwhile. */
import type { Test } from 'tap'
import { compiledSteps } from '../../src/store/migrations.ts'
import type { Cluster, Load } from './cluster.ts'

/** The oldest program that works with the present version, and with what the added steps only add. */
export const LEAST = compiledSteps('postgres').at(-1)?.least

export async function clusterState({ postgres, database }: Cluster): Promise<Record<string, unknown> | undefined> {
  return (await postgres.query(database, 'SELECT version, least, indexed FROM headgate_schema'))[0]
}

/** Ends loads. All of their requests have been served. */
export async function served(t: Test, loads: readonly Load[]): Promise<void> {
  for (const load of loads) await load.end()
  t.same(
    loads.flatMap(({ replies }) => replies.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`)),
    [],
    `${loads.reduce((sum, { replies }) => sum + replies.length, 0)} requests`,
  )
  t.same(
    loads.flatMap(({ broken }) => broken),
    [],
  )
}
