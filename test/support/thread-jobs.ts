/** Work for a thread that a test gives it: good, bad and endless. */
import { parentPort, threadId } from 'node:worker_threads'
import { Refusal, serveJobs } from '../../src/services/threads/index.ts'

serveJobs(async (job) => {
  const { does, bytes, latch } = job as { does: string; bytes?: Uint8Array; latch?: SharedArrayBuffer }
  const kept: unknown[] = []
  switch (does) {
    case 'thread':
      return { result: threadId }
    case 'sum':
      return { result: bytes?.reduce((sum, byte) => sum + byte, 0) }
    case 'back':
      return { result: bytes, transfer: bytes ? [bytes.buffer as ArrayBuffer] : [] }
    case 'wait':
      if (latch) Atomics.wait(new Int32Array(latch), 0, 0)
      return { result: threadId }
    case 'environment':
      return { result: Object.keys(process.env).length }
    case 'refuse':
      throw new Refusal('not this one')
    case 'throw':
      throw new Error('secret words of the document')
    case 'exit':
      return process.exit(3)
    case 'crash':
      setImmediate(() => {
        throw new Error('later')
      })
      return new Promise(() => {})
    case 'recurse':
      return {
        result: ((): number =>
          (function deep(): number {
            return deep() + 1
          })())(),
      }
    case 'heap':
      for (;;) kept.push({ a: [kept.length] })
    case 'buffers':
      for (;;) kept.push(new Uint8Array(1_000_000).fill(1))
    case 'heavy':
      for (let i = 0; i < 20; i++) kept.push(new Uint8Array(1_000_000).fill(1))
      return { result: kept.length }
    case 'print':
      console.log('noise of the worker')
      console.error('noise of the worker')
      return { result: parentPort !== null }
    case 'spin':
      for (;;);
    default:
      return { result: undefined }
  }
})
