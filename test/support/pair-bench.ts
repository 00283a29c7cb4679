/** One gateway between a client dialect and two providers of one dialect: the first misbehaves, the second is sound. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { PAUSE } from '../../src/pipeline/attempt/attempt.ts'
import { bodyText, cutReadable } from './body-text.ts'
import { FakeClock } from './clock.ts'
import { eventually } from './eventually.ts'
import { type FoldedReply, foldChat, foldChatStream, foldResponse, foldResponseStream } from './fold.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { type Lane, lanesBetween } from './lanes.ts'
import { type Script, startUpstream, type Upstream } from './upstream.ts'
import { says } from './wire.ts'

export interface Way {
  client: 'chat' | 'responses'
  dialect: string
  lane: Lane
}

/** Every client dialect to every upstream dialect, in every lane allowed. */
export function allWays(): Way[] {
  const ways: Way[] = []
  for (const client of ['chat', 'responses'] as const)
    for (const dialect of ['openai-chat', 'openai-responses'])
      for (const lane of lanesBetween(client, dialect)) ways.push({ client, dialect, lane })
  return ways
}

export const wayName = (way: Way): string => `${way.client} → ${way.dialect} in lane ${way.lane}`

export interface Bench {
  way: Way
  clock: FakeClock
  gateway: Gateway
  first: Upstream
  second: Upstream
  /** Sends the one question, to the first provider before the second. */
  ask(stream: boolean, more?: JsonObject, signal?: AbortSignal): Promise<Response>
  close(): Promise<void>
}

export interface BenchOptions {
  way: Way
  /** False: only the first provider serves the model. */
  backup: boolean
  script: Script
  /** Address in place of the first provider. */
  address?: string
  /** YAML in place of the first provider's time-outs. */
  timeouts?: string
}

/** Time-outs of the first provider, in milliseconds: shorter than the silence after which a stream's head goes out. */
export const TIMEOUTS = { firstByte: 5000, idle: 7000 }

const BACKUP = ', { provider: second, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }'

export async function startBench({
  way,
  backup,
  script,
  address,
  timeouts = '{ first_byte: 5s, idle: 7s }',
}: BenchOptions): Promise<Bench> {
  const clock = new FakeClock()
  const first = await startUpstream(script)
  const second = await startUpstream(says({ text: ['from the ', 'backup'] }))
  const gateway = await startGateway(
    `
providers:
  first: { dialect: ${way.dialect}, base_url: "${address ?? first.url}/v1", key: "sk-first-secret", timeouts: ${timeouts} }
  second: { dialect: ${way.dialect}, base_url: "${second.url}/v1", key: "sk-second-secret" }
models:
  acme/one:
    context: 128000
    endpoints: [ { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }${backup ? BACKUP : ''} ]
  acme/two:
    context: 128000
    endpoints: [ { provider: second, model: other-model, price: { prompt: "1.00", completion: "2.00" } } ]
`,
    { clock, lane: way.lane },
  )
  const question = way.client === 'chat' ? { messages: [{ role: 'user', content: 'Hello' }] } : { input: 'Hello' }
  return {
    way,
    clock,
    gateway,
    first,
    second,
    ask: (stream, more = {}, signal) =>
      cutReadable(
        fetch(`${gateway.url}${way.client === 'chat' ? '/v1/chat/completions' : '/v1/responses'}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'acme/one', provider: { order: ['first', 'second'] }, ...question, stream, ...more }),
          signal: signal ?? null,
        }),
      ),
    close: async () => {
      await gateway.close()
      await Promise.all([first.close(), second.close()])
    },
  }
}

/** Starts one, runs `body`, and stops it whatever happened. */
export async function withBench<Result>(options: BenchOptions, body: (bench: Bench) => Promise<Result>): Promise<Result> {
  const bench = await startBench(options)
  try {
    return await body(bench)
  } finally {
    await bench.close()
  }
}

/** Lets the pause pass that comes before a provider is called again that could not be reached. */
export async function passPause(clock: FakeClock): Promise<void> {
  const isPause = (delay: number): boolean => delay >= PAUSE.least && delay <= PAUSE.most
  await eventually('the pause before the second call', () => clock.waiting.some(isPause), { found: () => clock.waiting })
  await clock.advance(PAUSE.most)
}

/** The folded answer of a 200, stream or not. */
export async function foldReply(way: Way, response: Response): Promise<FoldedReply> {
  const text = await bodyText(response)
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    return way.client === 'chat' ? foldChatStream(text) : foldResponseStream(text)
  const body = JSON.parse(text) as JsonObject
  return way.client === 'chat' ? foldChat(body) : foldResponse(body)
}

/** Checks the standard error body. */
export async function expectFault(t: Test, response: Response, status: number, type: string): Promise<JsonObject> {
  const body = (await response.json()) as JsonObject
  t.equal(response.status, status)
  t.match(body, { error: { code: status, message: String, metadata: { error_type: type } } })
  t.match(response.headers.get('content-type'), /^application\/json/)
  return body
}
