/** The mix of requests: 70 % small chats, 20 % turns of agents, 10 % embeddings, and streams at the pace of models. */
import { AGENT_OF } from '../agent-requests.ts'
import { CHAT, embeddings, STREAM_OF } from '../requests.ts'

export const KINDS = ['chat', 'agent', 'embedding'] as const
export type Kind = (typeof KINDS)[number]

/** Tokens per second of a stream: one of these, evenly spread. */
export const PACE = { least: 20, most: 80 } as const

/** Of 100 requests in a row; each kind comes as often as its share, in an order by chance. */
const SHARES: Readonly<Record<Kind, number>> = { chat: 70, agent: 20, embedding: 10 }

/** @param chance below 1. */
export function kindAt(chance: number): Kind {
  let at = chance * 100
  for (const kind of KINDS) {
    at -= SHARES[kind]
    if (at < 0) return kind
  }
  return 'embedding'
}

/** Body of each kind; a turn of an agent is streamed, as is each request of `held`. */
export const BODIES: Readonly<Record<Kind | 'held', { readonly path: string; readonly body: string }>> = {
  chat: CHAT,
  agent: AGENT_OF.chat('bench/chat'),
  embedding: embeddings(1),
  held: STREAM_OF.chat('bench/chat-paced'),
}

/** One arrival of the open loop: when it is due, in milliseconds from the beginning, and what it is. */
export interface Arrival {
  readonly due: number
  readonly kind: Kind
}

/** Arrivals of independent callers: the gaps between them are exponential, so they also come in bunches. */
export function* arrivals(rate: number, milliseconds: number, chance: () => number): Generator<Arrival> {
  for (let due = 0; ; ) {
    due += (-Math.log(1 - chance()) * 1000) / rate
    if (due >= milliseconds) return
    yield { due, kind: kindAt(chance()) }
  }
}
