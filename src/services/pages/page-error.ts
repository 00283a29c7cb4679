/** The model cannot have the page; the message is shown to the model. */
export class PageError extends Error {
  readonly httpStatus: number | undefined

  constructor(message: string, httpStatus?: number) {
    super(message)
    this.name = 'PageError'
    this.httpStatus = httpStatus
  }
}
