/** Messages between processes, without the processes. */
import type { PubSub, Topic } from '../../src/cluster/shared/types.ts'
import type { Json } from '../../src/core/json.ts'

/** Publish and subscribe with several ends; messages wait until they are delivered. */
export class Hub {
  readonly utterance: { from: number; topic: Topic; message: Json }[] = []
  private readonly ears: { at: number; topic: Topic; hear: (message: Json) => void }[] = []
  private ends = 0

  end(): PubSub {
    const at = this.ends++
    return {
      publish: (topic, message) => this.utterance.push({ from: at, topic, message: JSON.parse(JSON.stringify(message)) as Json }),
      subscribe: (topic, hear) => this.ears.push({ at, topic, hear }),
      commonSecret: (hear) => hear('a secret of the wire'),
      close: async () => {},
    }
  }

  /** @param count of messages, the oldest first; all where absent. @returns how many there were. */
  deliver(count = this.utterance.length): number {
    const due = this.utterance.splice(0, count)
    for (const { from, topic, message } of due) {
      for (const ear of this.ears) if (ear.at !== from && ear.topic === topic) ear.hear(message)
    }
    return due.length
  }

  /** As from a stranger. */
  inject(topic: Topic, message: Json): void {
    this.utterance.push({ from: -1, topic, message })
    this.deliver()
  }
}
