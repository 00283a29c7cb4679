/** One connection pool per provider address, kept over reloads. */
import type { Dispatcher } from 'undici'
// Not the package's front door, which loads 13 MB of fetch, WebSocket, caches and mocks.
import Pool from 'undici/lib/dispatcher/pool.js'

export interface PoolSettings {
  origin: string
  /** Milliseconds. */
  connectTimeout: number
}

const connections = new WeakMap<Dispatcher, number>()

/** Connections that a pool has made so far: as many before a call as after it, and the call went over one that had served before. */
export function connectionsMade(pool: Dispatcher): number | undefined {
  return connections.get(pool)
}

export class Pools {
  private readonly pools = new Map<string, Dispatcher>()
  /** The same by the settings' own identity: callers that keep theirs pay for no text key. */
  private known = new WeakMap<PoolSettings, Dispatcher>()

  for(settings: PoolSettings): Dispatcher {
    let pool = this.known.get(settings)
    if (!pool) {
      pool = this.open(settings)
      this.known.set(settings, pool)
    }
    return pool
  }

  private open(settings: PoolSettings): Dispatcher {
    const key = `${settings.origin} ${settings.connectTimeout}`
    let pool = this.pools.get(key)
    if (!pool) {
      pool = new Pool(settings.origin, {
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: 30_000,
        // The time-outs of a running call are ours, on the injected clock: the client's own are coarse and comments reset them.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: settings.connectTimeout },
      })
      const made = pool
      connections.set(made, 0)
      made.on('connect', () => connections.set(made, (connections.get(made) ?? 0) + 1))
      this.pools.set(key, pool)
    }
    return pool
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.destroy()))
    this.pools.clear()
    this.known = new WeakMap()
  }
}
