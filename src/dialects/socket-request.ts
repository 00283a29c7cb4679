/** Request in a message of a WebSocket. */

/** The body of a request that came as a message. */
export interface SocketBody {
  readonly bytes: Buffer
  /** The conversation in it; a view of `bytes`. */
  readonly conversation: Buffer
}

/** A message that requests a response. */
export interface SocketRequest {
  /** The lane that it runs in; undefined: the connection's own. Requests of one lane run one after the other. */
  readonly lane: string | undefined
  /** Id of the response that it continues; undefined where it holds the whole conversation. */
  readonly continues: string | undefined
  /** False where nothing is to be generated: a later request continues from what it holds. */
  readonly generates: boolean
  /** @param history the conversation as it stood after the response that is continued. @throws Fault 400. */
  body(history: Buffer | undefined): SocketBody
}

/** A message that is answered at once, by another one, in JSON. */
export interface SocketAnswer {
  readonly answer: Buffer
}
