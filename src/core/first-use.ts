/** A value that is made at its first use: without a use it costs neither memory nor time at the start. */
export class FirstUse<T> {
  private readonly make: () => Promise<T>
  private made: Promise<T> | undefined

  constructor(make: () => Promise<T>) {
    this.make = make
  }

  /** A failure is not kept: the next call tries again. */
  get(): Promise<T> {
    this.made ??= this.make().catch((error) => {
      this.made = undefined
      throw error
    })
    return this.made
  }

  /** Does something to it where it has been made. */
  async ifMade(use: (made: T) => void | Promise<void>): Promise<void> {
    if (this.made) await use(await this.made)
  }
}
