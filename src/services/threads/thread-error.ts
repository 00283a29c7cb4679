/**
 * Why a job gave no result: `busy` (too many wait), `timeout`, `memory` (its thread grew too large), `refused` (the job
 * refused its input, see `word`), `failed` (it threw, or its thread died), `closed` (the pool has ended).
 */
export type ThreadFailure = 'busy' | 'timeout' | 'memory' | 'refused' | 'failed' | 'closed'

export class ThreadError extends Error {
  readonly failure: ThreadFailure
  /** Of the work, where it refused. */
  readonly word: string

  constructor(failure: ThreadFailure, word = '') {
    super(word === '' ? failure : `${failure}: ${word}`)
    this.name = `ThreadError (${this.message})`
    this.failure = failure
    this.word = word
  }
}
