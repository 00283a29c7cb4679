/** One connection pool per provider address, kept over reloads. */
import type { Dispatcher } from 'undici'
import { ConnectionPool } from './connection-pool.ts'

export interface PoolSettings {
  origin: string
  /** Milliseconds. */
  connectTimeout: number
}

/** Connections that a pool has made so far: as many before a call as after it, and the call went over one that had served before. */
export function connectionsMade(pool: Dispatcher): number | undefined {
  return pool instanceof ConnectionPool ? pool.made : undefined
}

/** True where a call goes over a connection that stands already. */
export function isConnected(pool: Dispatcher): boolean {
  return pool instanceof ConnectionPool && pool.idleCount > 0
}

export class Pools {
  private readonly pools = new Map<string, ConnectionPool>()
  /** The same by the settings' own identity: callers that keep theirs pay for no text key. */
  private known = new WeakMap<PoolSettings, ConnectionPool>()

  for(settings: PoolSettings): ConnectionPool {
    let pool = this.known.get(settings)
    if (!pool) {
      pool = this.open(settings)
      this.known.set(settings, pool)
    }
    return pool
  }

  private open({ origin, connectTimeout }: PoolSettings): ConnectionPool {
    const key = `${origin} ${connectTimeout}`
    let pool = this.pools.get(key)
    if (!pool) {
      pool = new ConnectionPool(origin, { connectTimeout })
      this.pools.set(key, pool)
    }
    return pool
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()))
    this.pools.clear()
    this.known = new WeakMap()
  }
}
