/** A channel between an owner and a worker within one process: what crosses is JSON text, as in a real one. */
import type { Message, Port } from '../../src/cluster/ipc-line.ts'

export interface Cable {
  readonly owner: Port
  readonly worker: Port
  /** Every message that has crossed, as text. */
  readonly crossed: string[]
  /** The worker's process ends: both sides hear it once everything has arrived. */
  cut(): void
}

class End implements Port {
  open = true
  hear: (message: unknown) => void = () => {}
  gone: () => void = () => {}
  readonly deliver: (text: string) => void

  constructor(deliver: (text: string) => void) {
    this.deliver = deliver
  }

  send(message: { messages: readonly Message[] }): void {
    this.deliver(JSON.stringify(message))
  }

  listen(hear: (message: unknown) => void, gone: () => void): void {
    this.hear = hear
    this.gone = gone
  }
}

export function cable(): Cable {
  const crossed: string[] = []
  const to = (end: () => End) => (text: string) => {
    crossed.push(text)
    setImmediate(() => end().hear(JSON.parse(text)))
  }
  const owner: End = new End(to(() => worker))
  const worker: End = new End(to(() => owner))
  const cut = (): void => {
    for (const end of [owner, worker]) end.open = false
    setImmediate(() => {
      for (const end of [owner, worker]) end.gone()
    })
  }
  return { owner, worker, crossed, cut }
}
