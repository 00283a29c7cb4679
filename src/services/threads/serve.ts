/** The inside of a worker thread. */
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { parentPort, type Transferable } from 'node:worker_threads'

/** Thrown by a job that refuses its input: the message reaches the caller. Any other error is reported as `failed` only. */
export class Refusal extends Error {}

export interface JobMessage {
  job: unknown
}

export type Outcome = { result: unknown } | { refused: string } | { failed: true }
/** With the bytes that the thread holds after the job, garbage included. */
export type Answered = Outcome & { used: number }

/** Does one job after the other; the pool sends the next one only after the answer. */
export function serveJobs(work: (job: unknown) => Promise<{ result: unknown; transfer?: Transferable[] }>): void {
  const port = parentPort
  if (!port) throw new Error('this module runs in a worker thread only')
  // Discards what parsers write to the console: unread output would fill the memory.
  globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }))
  const answer = (outcome: Outcome, transfer: readonly Transferable[] = []): void => {
    const { heapUsed, external } = process.memoryUsage()
    port.postMessage({ ...outcome, used: heapUsed + external } satisfies Answered, transfer)
  }
  port.on('message', ({ job }: JobMessage) => {
    work(job).then(
      ({ result, transfer }) => answer({ result }, transfer),
      (thrown: unknown) => answer(thrown instanceof Refusal ? { refused: thrown.message } : { failed: true }),
    )
  })
}
