/** What events are delivered to, as the configuration states it. */
export interface ReceiverSettings {
  readonly name: string
  readonly url: string
  readonly secret: string
  /** Secrets that receivers may still know: every delivery is signed with them as well. */
  readonly formerSecrets: readonly string[]
  /** Empty for all types. */
  readonly types: readonly string[]
  /** Milliseconds: of one attempt, and after which a delivery is given up. */
  readonly timeout: number
  readonly giveUpAfter: number
  readonly concurrency: number
}

export interface EventSettings {
  readonly source: string
  /** Milliseconds for which events are kept. */
  readonly retention: number
  /** Percent of a key's limit. */
  readonly budgetShares: readonly number[]
  readonly receivers: readonly ReceiverSettings[]
}
