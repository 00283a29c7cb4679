/** The scenarios: which request each target gets, and with how many connections. */
import { AGENT_NATIVE, AGENT_OF } from './agent-requests.ts'
import {
  type BenchRequest,
  CHAT,
  CHAT_2KB,
  CHAT_PACED,
  CHAT_STREAM,
  NATIVE,
  RESPONSES_PASSED,
  RESPONSES_TRANSLATED,
  STREAM_OF,
} from './requests.ts'
import type { TargetName } from './target.ts'

/** One kind of load, put on several targets in turn. */
export interface Scenario {
  readonly name: string
  readonly about: string
  readonly targets: readonly { readonly name: TargetName; readonly request: BenchRequest }[]
  /** True if peers speak this request. */
  readonly peers: boolean
  /** Overrides the run's number of connections. */
  readonly connections?: number
}

const everyone = (request: BenchRequest): Scenario['targets'] =>
  (['direct', 'forwarder', 'blind-proxy', 'headgate'] as const).map((name) => ({ name, request }))

export const SCENARIOS: readonly Scenario[] = [
  { name: 'chat', about: 'chat, one JSON reply', targets: everyone(CHAT), peers: true },
  {
    name: 'chat-alone',
    about: 'the same from one connection: the latency that is added to a lone request',
    targets: everyone(CHAT),
    peers: false,
    connections: 1,
  },
  { name: 'chat-stream', about: 'chat stream, 100 text events as fast as they go', targets: everyone(CHAT_STREAM), peers: true },
  { name: 'chat-stream-paced', about: 'chat stream, 100 text events, one every 5 ms', targets: everyone(CHAT_PACED), peers: true },
  { name: 'responses-stream', about: 'Responses stream, passed, 100 text events', targets: everyone(RESPONSES_PASSED), peers: false },
  {
    name: 'responses-translated',
    about: 'Responses stream translated from a chat upstream; the others carry the chat stream itself',
    targets: [
      { name: 'direct', request: CHAT_STREAM },
      { name: 'forwarder', request: CHAT_STREAM },
      { name: 'headgate', request: RESPONSES_TRANSLATED },
    ],
    peers: false,
  },
  {
    name: 'guardrails',
    about: 'chat with a prompt of 2 KB, one JSON reply; guarded is headgate with every built-in recogniser over it',
    targets: [
      { name: 'direct', request: CHAT_2KB },
      { name: 'headgate', request: CHAT_2KB },
      { name: 'guarded', request: CHAT_2KB },
    ],
    peers: false,
  },
]

const CLIENTS = ['chat', 'responses', 'messages'] as const
const UPSTREAMS = ['chat', 'responses', 'anthropic', 'gemini'] as const

/** Every client's stream from every wire, 100 text events; the forwarder carries the upstream's own stream. */
export const PAIRS: readonly Scenario[] = CLIENTS.flatMap((client) =>
  UPSTREAMS.map((upstream) => ({
    name: `pair-${client}-${upstream}`,
    about: `${client} stream from a provider of the ${upstream} wire, 100 text events`,
    targets: [
      { name: 'direct' as const, request: NATIVE[upstream] },
      { name: 'forwarder' as const, request: NATIVE[upstream] },
      { name: 'headgate' as const, request: STREAM_OF[client](`bench/${upstream}`) },
    ],
    peers: false,
  })),
)

/** Turns of 330 KB that are open at once: on two processors that the load needs as well, more of them are more than one process takes in. */
const OPEN_TURNS = 6

/** A turn of a coding agent of about 330 KB from every client's wire to every provider's; the forwarder carries the provider's own form of it. */
export const AGENT_TURNS: readonly Scenario[] = CLIENTS.flatMap((client) =>
  UPSTREAMS.map((upstream) => ({
    name: `agent-${client}-${upstream}`,
    about: `${client} body of 330 KB with 20 tools and 40 messages to a provider of the ${upstream} wire, streamed answer`,
    targets: [
      { name: 'direct' as const, request: AGENT_NATIVE[upstream]() },
      { name: 'forwarder' as const, request: AGENT_NATIVE[upstream]() },
      { name: 'headgate' as const, request: AGENT_OF[client](`bench/${upstream}`) },
    ],
    connections: OPEN_TURNS,
    peers: client === 'chat' && upstream === 'chat',
  })),
)

/** Name of each client's own wire as a provider's: between these nothing is translated. */
const OWN_WIRES: readonly string[] = ['chat-chat', 'responses-responses', 'messages-anthropic']

/** True if the gateway translates in a scenario of a client's and a provider's wire. */
export const isTranslated = (name: string): boolean => !OWN_WIRES.includes(name.slice(name.indexOf('-') + 1))
