/** Start-up and idle memory: from the command to the first answered request, and what an idle gateway holds. */
import { startGateway } from './gateway.ts'
import { residentMegabytes } from './processes.ts'
import { BENCH_KEY, CHAT, CHAT_STREAM } from './requests.ts'

const STARTS = 5
/** Each rests before it is read. */
const IDLE_STARTS = 3

/** A few requests of each kind, so that everything that loads lazily is loaded. */
const IDLE_REQUESTS = 20

/** Milliseconds of rest before the memory is read. */
const REST_MS = 2_000

export interface StartUp {
  /** Milliseconds from `node bin/headgate.js serve` to the first answer, of each start. */
  readonly launcherMs: readonly number[]
  /** Milliseconds from `npm start` to the first answer, of each start. */
  readonly npmMs: readonly number[]
  /** Resident megabytes of an idle gateway that has served a few requests, of each start. */
  readonly idleMegabytes: readonly number[]
}

async function idleMegabytes(mockPort: number): Promise<number> {
  const gateway = await startGateway(mockPort)
  try {
    for (let at = 0; at < IDLE_REQUESTS; at++) {
      for (const request of [CHAT, CHAT_STREAM]) {
        const reply = await fetch(`http://127.0.0.1:${gateway.port}${request.path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}` },
          body: request.body,
        })
        await reply.text()
        if (reply.status !== 200) throw new Error(`headgate answered ${reply.status}:\n${gateway.logTail()}`)
      }
    }
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    return residentMegabytes(gateway.child.pid ?? 0)
  } finally {
    await gateway.stop()
  }
}

async function startMs(mockPort: number, throughNpm: boolean): Promise<number> {
  const gateway = await startGateway(mockPort, { throughNpm })
  await gateway.stop()
  return gateway.firstAnswerMs
}

/** Starts the gateway several times each way. @throws Error when it does not start. */
export async function measureStartUp(mockPort: number): Promise<StartUp> {
  const found = { launcherMs: [] as number[], npmMs: [] as number[], idleMegabytes: [] as number[] }
  for (let at = 0; at < STARTS; at++) {
    found.launcherMs.push(await startMs(mockPort, false))
    found.npmMs.push(await startMs(mockPort, true))
    if (at < IDLE_STARTS) found.idleMegabytes.push(await idleMegabytes(mockPort))
  }
  return found
}
