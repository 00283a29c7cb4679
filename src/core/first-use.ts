/** What is made when it is first asked for: the memory and the start belong to those who use it. */
export class FirstUse<T> {
  private readonly make: () => Promise<T>
  private made: Promise<T> | undefined

  constructor(make: () => Promise<T>) {
    this.make = make
  }

  /** A failure is not kept: the next one to ask tries again. */
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
