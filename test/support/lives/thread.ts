/** A thread of lives, see `liveMany`. */
import { parentPort, workerData } from 'node:worker_threads'
import { type Answer, live, type OpenMarket, type Task } from './many.ts'

const { market, given, runs } = workerData as Task
const { opener } = (await import(`./${market}.ts`)) as { opener(given: string): () => Promise<OpenMarket> }
const send = (answer: Answer): void => parentPort?.postMessage(answer)
live(opener(given), runs).then(
  (lived) => send({ lived }),
  (thrown: unknown) => send({ problem: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
)
