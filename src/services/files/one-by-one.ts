/** Work on one thing, one after the other: what is asked for at once would else be done at once, each time from the beginning. */
export class OneByOne {
  private last: Promise<unknown> = Promise.resolve()

  /** Begins when all that came before has ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work)
    this.last = done.catch(() => {})
    return done
  }
}
