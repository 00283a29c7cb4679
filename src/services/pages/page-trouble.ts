/** There is no such page for the model; the message is for it to read. */
export class PageTrouble extends Error {
  readonly httpStatus: number | undefined

  constructor(message: string, httpStatus?: number) {
    super(message)
    this.name = 'PageTrouble'
    this.httpStatus = httpStatus
  }
}
