/** Requests at a given rate, whether or not earlier ones have been answered. */
import { Agent } from 'node:http'
import { ask, type Conduct, Left, type Received } from '../test/support/crash/load.ts'

export interface RateOptions {
  /** Target of the next request. */
  address: () => string
  /** Secrets of the keys; the first one asks most. */
  keys: readonly [string, string]
  /** Per second. */
  rate: number
  random: () => number
}

export interface Load {
  readonly sent: number
  /** Connections that failed: those of a killed process. */
  readonly failed: number
  /** Of these: connections that stayed open with nothing on them. */
  readonly hung: number
  /** Sends no more, and waits for what is open. @returns the replies that were whole. */
  end(): Promise<Received[]>
}

/** Milliseconds between two looks at the clock; each sends what has become due. */
const TICK = 5
/** Milliseconds after which a silent connection is given up: far beyond every time-out of the gateway here. */
const TIMEOUT_MS = 30_000

/** Share of requests that the second key makes. */
const SECOND = 0.2

function conductFor(chance: number): Conduct {
  if (chance < 0.7) return 'reads'
  if (chance < 0.84) return 'leaves'
  return chance < 0.98 ? 'deadline' : 'stalls'
}

export function loadAt({ rate, address, keys, random }: RateOptions): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const received: Received[] = []
  const open = new Set<Promise<void>>()
  const begun = performance.now()
  let [sent, failed, hung] = [0, 0, 0]
  const one = async (): Promise<void> => {
    const started = performance.now()
    try {
      const key = keys[random() < SECOND ? 1 : 0]
      const reply = await ask({ url: address(), key, random, timeoutMs: TIMEOUT_MS, conduct: conductFor(random()) }, agent)
      if (reply) received.push(reply)
    } catch (error) {
      if (error instanceof Left) return
      failed++
      if (performance.now() - started >= TIMEOUT_MS) hung++
    }
  }
  const timer = setInterval(() => {
    for (const due = ((performance.now() - begun) / 1000) * rate; sent < due; sent++) {
      const reply = one().finally(() => open.delete(reply))
      open.add(reply)
    }
  }, TICK)
  return {
    get sent() {
      return sent
    },
    get failed() {
      return failed
    },
    get hung() {
      return hung
    },
    end: async () => {
      clearInterval(timer)
      while (open.size > 0) await Promise.all(open)
      agent.destroy()
      return received
    },
  }
}
