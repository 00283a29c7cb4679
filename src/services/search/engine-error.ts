/** An engine did not answer, or not as it should. */
export class EngineError extends Error {
  /** @param word of our own: nothing of the query or the answer. The name carries it, since logs show names and no messages. */
  constructor(engine: string, word: string) {
    super(word)
    this.name = `EngineError (${engine}: ${word})`
  }
}
