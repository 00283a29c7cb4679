/** Processes of workers. */
import cluster from 'node:cluster'
import { isSea } from 'node:sea'
import { WORKER_VARIABLE } from '../cluster/messages.ts'
import type { WorkerProcess } from '../cluster/worker-pool.ts'

/**
 * Makes a worker's process: the same program once more.
 * Where a worker cannot listen for itself (see the listener), connections are dealt out in turn by the owner.
 */
export function forkWorker(slot: number): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR
  // The single file begins with its own program: what stands in the place of a script is its first argument.
  cluster.setupPrimary(isSea() ? { exec: 'serve', args: [] } : { exec: process.argv[1], args: ['serve'] })
  // If a launcher has handed over to the owner, it watches the owner alone, so workers do not inherit the variable.
  const worker = cluster.fork({ [WORKER_VARIABLE]: String(slot), HEADGATE_HANDED_OVER: '' })
  // Reported as the end of the process: for a process that could not be started, no other event follows.
  worker.on('error', () => {
    if (worker.process.pid === undefined) worker.emit('disconnect')
    if (worker.process.pid === undefined) worker.emit('exit', null, null)
  })
  return {
    pid: worker.process.pid,
    get connected() {
      return worker.isConnected()
    },
    send: (message, callback) => worker.send(message, callback),
    on: (event, hear) => worker.on(event, hear),
    once: (event: 'exit' | 'disconnect', then: (...how: never[]) => void) => worker.once(event, then as () => void),
    kill: (signal) => worker.process.kill(signal),
  }
}
