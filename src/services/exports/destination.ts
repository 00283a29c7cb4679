/** What a destination of exports is. */

export interface Delivery {
  /** Relative path of a file or object, with its ending. */
  readonly name: string
  /** Of this batch of this export: a destination that knows it has the batch already. */
  readonly token: string
  /** JSON lines. */
  readonly body: Buffer
  readonly isGzip: boolean
}

export interface Destination {
  /** Without secrets, for the log. */
  readonly place: string
  /** Resolves when the batch is safe there. Rejects with a `DeliveryError`, or an error of the system. */
  deliver(delivery: Delivery): Promise<void>
  close(): void
}

/** Why a batch was not taken, in words that a log may show: never with what the destination said. */
export class DeliveryError extends Error {}
