/** The inside of a worker thread. */
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { parentPort, type Transferable } from 'node:worker_threads'

/** Thrown by work that will not do a job: its word reaches whoever asked. Anything else that is thrown is only `failed`. */
export class Refusal extends Error {}

export interface Asked {
  job: unknown
}

export type Outcome = { result: unknown } | { refused: string } | { failed: true }
/** With the bytes that the thread holds after the job, garbage included. */
export type Answered = Outcome & { used: number }

/** Does one job after the other; the pool sends the next one only after the answer. */
export function serveJobs(work: (job: unknown) => Promise<{ result: unknown; transfer?: Transferable[] }>): void {
  const port = parentPort
  if (!port) throw new Error('this module runs in a worker thread only')
  // What a parser says of a document is for nobody, and unread output would only pile up.
  globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }))
  const answer = (outcome: Outcome, transfer: readonly Transferable[] = []): void => {
    const { heapUsed, external } = process.memoryUsage()
    port.postMessage({ ...outcome, used: heapUsed + external } satisfies Answered, transfer)
  }
  port.on('message', ({ job }: Asked) => {
    work(job).then(
      ({ result, transfer }) => answer({ result }, transfer),
      (thrown: unknown) => answer(thrown instanceof Refusal ? { refused: thrown.message } : { failed: true }),
    )
  })
}
