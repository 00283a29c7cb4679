/** A call at a provider inside this process: its numbers are written as the caller wants them, with nothing to scan. */

import { Fault } from '../../core/faults.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { EmbeddingAsk, VectorSink } from '../../dialects/types.ts'
import { type WrittenVector, writeFloats } from '../../dialects/vectors/written.ts'
import type { Brought } from './call.ts'

export class LocalCall implements VectorSink {
  readonly done: Promise<Brought>
  private readonly ask: EmbeddingAsk
  private readonly written: WrittenVector[] = []
  private resolve: (brought: Brought) => void = () => {}
  private reject: (fault: Fault) => void = () => {}

  constructor(ask: EmbeddingAsk) {
    this.ask = ask
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  vectors(batch: readonly Float32Array[]): void {
    for (const floats of batch) this.written.push(writeFloats(floats, this.ask.settings.form))
  }

  fail(fault: Fault): void {
    this.reject(fault)
  }

  end(usage: Usage): void {
    if (this.written.length === this.ask.inputs.length) this.resolve({ vectors: this.written, usage })
    else this.fail(new Fault('upstream_garbled'))
  }
}
