/** Runs jobs on one thing one after the other: concurrent requests would otherwise each do the whole work from the beginning. */
export class OneByOne {
  private last: Promise<unknown> = Promise.resolve()

  /** Begins when all that came before has ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work)
    this.last = done.catch(() => {})
    return done
  }
}
