/** The connections of one process to PostgreSQL, by purpose: what callers cause never waits before what money needs. */
import { Connection, type ConnectionReport, type PoolOptions, type TimeLimits } from './connection.ts'

export interface Connections {
  /** Leases, settlements and pulses, and the upkeep of leases. Of the size that the URL names. */
  readonly money: Connection
  /** Keys by their hashes, and balances: both go in batches, at most three at once. */
  readonly lookUps: Connection
  /** Everything else that is read, findings of guardrails, and retention. */
  readonly readings: Connection
  /** Changes of keys and guardrails, one after the other: each waits for those of all processes. */
  readonly changes: Connection
}

/** The second connection serves while the first one stalls. */
const LOOK_UPS: PoolOptions = { name: 'headgate look-ups', size: 2 }
const READINGS: PoolOptions = { name: 'headgate readings', size: 2, waiting: 64 }
const CHANGES: PoolOptions = { name: 'headgate changes', size: 1, waiting: 64 }

/** Connects at the first statement of each kind only. @throws Fault `bad_request` for a URL that is none. */
export function openConnections(url: string, report: (report: ConnectionReport) => void, limits: TimeLimits): Connections {
  const open = (pool?: PoolOptions): Connection => new Connection(url, report, limits, pool)
  return { money: open(), lookUps: open(LOOK_UPS), readings: open(READINGS), changes: open(CHANGES) }
}

/** Waits for what is under way. */
export async function closeConnections({ money, lookUps, readings, changes }: Connections): Promise<void> {
  await Promise.all([money, lookUps, readings, changes].map((connection) => connection.close()))
}
