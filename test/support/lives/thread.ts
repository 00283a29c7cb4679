/** A thread of lives, see `liveMany`. */
import { parentPort, workerData } from 'node:worker_threads'
import { live, type OpenMarket, type Task, type Told } from './many.ts'

const { market, given, runs } = workerData as Task
const { opener } = (await import(`./${market}.ts`)) as { opener(given: string): () => Promise<OpenMarket> }
const tell = (told: Told): void => parentPort?.postMessage(told)
live(opener(given), runs).then(
  (lived) => tell({ lived }),
  (thrown: unknown) => tell({ problem: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
)
