/**
 * Servers that count along with each piece of a stream (quirk `running_usage`): an answer that its caller leaves is charged by the count of
 * its last piece, nothing is waited for, and what goes to callers is the same as without the counts.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { parseFacts } from '../../../src/ledger/facts.ts'
import { eventually } from '../../support/eventually.ts'
import { type Client, PATHS, questionFor } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { Gate, type Seen, sseAnswer } from '../../support/upstream.ts'

const CLIENTS: readonly Client[] = ['chat', 'responses', 'messages']
const PROMPT = 12
const PIECES = [
  'w0 once\n',
  'w1 "upon" ',
  'w2 a tíme\t',
  'w3 ,"usage":{ ',
  'w4 日本 ',
  'w5 a 🦊 ',
  'w6}],"usage":{}} ',
  'w7 counted',
  'w8.',
]
/** Tokens that the server counts up to each piece: no estimate comes to the same. */
const COUNTS = PIECES.map((_, at) => 40 + 7 * at)

interface Server {
  readonly name: string
  readonly quirk: string
  /** Field of a request that wants the counts. */
  readonly asks: (body: JsonObject) => unknown
  readonly chunk: (choices: JsonObject[], output: number, counts: boolean) => JsonObject
}

const usage = (output: number): JsonObject => ({
  prompt_tokens: PROMPT,
  total_tokens: PROMPT + output,
  completion_tokens: output,
  completion_tokens_details: { reasoning_tokens: 2 },
})

const SERVERS: readonly Server[] = [
  {
    name: 'vLLM',
    quirk: 'continuous_usage_stats',
    asks: ({ stream_options: options }) => (options as JsonObject).continuous_usage_stats,
    chunk: (choices, output, counts) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices,
      ...(counts ? { usage: usage(output) } : {}),
    }),
  },
  {
    name: 'llama.cpp',
    quirk: 'timings_per_token',
    asks: ({ timings_per_token: asked }) => asked,
    chunk: (choices, output, counts) => ({
      choices,
      created: 1,
      id: 'chatcmpl-1',
      model: 'm',
      system_fingerprint: 'b1',
      object: 'chat.completion.chunk',
      ...(choices.length === 0 ? { usage: usage(output) } : {}),
      ...(counts ? { timings: { cache_n: PROMPT - 1, prompt_n: 1, prompt_ms: 1.5, predicted_n: output, predicted_ms: 2.25 } } : {}),
    }),
  },
]

const frame = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`

function serverFrames({ chunk }: Server, counts: boolean): string[] {
  const last = COUNTS.at(-1) ?? 0
  return [
    frame(chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], 0, counts)),
    ...PIECES.map((content, at) => frame(chunk([{ index: 0, delta: { content }, finish_reason: null }], COUNTS[at] ?? 0, counts))),
    frame(chunk([{ index: 0, delta: {}, finish_reason: 'stop' }], last, counts)),
    frame({ ...chunk([], last, true), usage: usage(last) }),
    'data: [DONE]\n\n',
  ]
}

async function place(t: Test, { quirk }: Server, lane?: 'observe' | 'translate'): Promise<Scene> {
  return startScene(t, { provider: `quirks: { running_usage: ${quirk} }`, ...(lane ? { lane } : {}) })
}

/** Reads until this piece has come. */
async function readTo(response: Response, piece: string): Promise<void> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes(piece); ) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) throw new Error('the stream ended too early')
    text += decoder.decode(value, { stream: true })
  }
}

async function leave({ gateway, upstream, clock }: Scene, client: Client, server: Server, cut: number): Promise<Seen> {
  const left = new Gate()
  upstream.script = (request) => {
    const frames = serverFrames(server, true)
    const wait = async (): Promise<undefined> => {
      await Promise.race([left.opened, request.closed])
      return undefined
    }
    return sseAnswer([...frames.slice(0, cut + 1), wait, ...frames.slice(cut + 1)])
  }
  const aborter = new AbortController()
  const response = await fetch(`${gateway.url}${PATHS[client]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...questionFor(client), stream: true }),
    signal: aborter.signal,
  })
  await readTo(response, `w${cut - 1}`)
  aborter.abort()
  const seen = upstream.requests.at(-1) as Seen
  await eventually('the call ends', async () => {
    // The gateway probes a connection that has only been closed halfway.
    await clock.advance(20)
    return seen.aborted
  })
  return seen
}

for (const server of SERVERS)
  t.test(`an answer of ${server.name} that is left is charged by its own count`, async (t) => {
    for (const lane of [undefined, 'observe', 'translate'] as const) {
      const scene = await place(t, server, lane)
      for (const client of CLIENTS)
        for (const cut of [2, 4, 7, PIECES.length]) {
          const before = scene.rows().length
          const began = scene.clock.monotonic()
          const { json } = await leave(scene, client, server, cut)
          t.equal(server.asks(json), true, 'the counts are requested')
          const row = await eventually('the settlement', () => scene.rows()[before]?.settled)
          const name = `${lane ?? 'as it goes'}, ${client}, left after ${cut} pieces`
          const { input, output, estimated, status } = row
          t.same(
            { input, output, estimated, status },
            { input: PROMPT, output: COUNTS[cut - 1], estimated: false, status: 'aborted' },
            name,
          )
          t.equal(parseFacts(row).charge_reason, 'caller/usage_known/reported', name)
          t.ok(scene.clock.monotonic() - began < 1000, 'nothing is waited for')
        }
    }
  })

t.test('callers get the same with the counts as without, whatever pieces they come in', async (t) => {
  for (const server of SERVERS)
    for (const lane of [undefined, 'observe', 'translate'] as const) {
      const scene = await place(t, server, lane)
      for (const client of CLIENTS) {
        const texts: string[] = []
        for (const counts of [false, true])
          for (const split of [undefined, 7, 64]) {
            const frames = serverFrames(server, counts)
            scene.upstream.script = () => sseAnswer(split === undefined ? frames : [frames.join('')], split === undefined ? {} : { split })
            const text = await (await scene.ask({ stream: true }, client)).text()
            texts.push(
              text
                .split('\n')
                .filter((line) => !line.startsWith(':'))
                .join('\n')
                .replaceAll(/gen-[\w-]+|(?:msg|resp|item)_[\w-]+/g, 'id'),
            )
          }
        t.equal(new Set(texts).size, 1, `${server.name}, ${lane ?? 'as it goes'}, ${client}`)
        t.notMatch(texts[0]?.slice(0, texts[0].indexOf('w8')), /"timings"|"predicted_n"/)
        const row = scene.rows().at(-1)?.settled
        t.same([row?.input, row?.output, row?.estimated], [PROMPT, COUNTS.at(-1), false], 'and the charge is that of the final report')
      }
    }
})

t.test('the counts are requested of streams alone, and of no provider without the quirk', async (t) => {
  for (const server of SERVERS) {
    const scene = await place(t, server)
    await (await scene.ask()).text()
    const { json = {} } = scene.upstream.requests.at(-1) ?? {}
    t.same([json.stream_options, json.timings_per_token], [undefined, undefined])
  }
  const plain = await startScene(t)
  await (await plain.ask({ stream: true })).text()
  t.same(plain.upstream.requests.at(-1)?.json.stream_options, { include_usage: true })
})

t.test('a report that cannot be read leaves the estimate', async (t) => {
  const [server] = SERVERS as readonly [Server]
  const scene = await place(t, server)
  const broken: Server = {
    ...server,
    chunk: (choices, output, counts) => ({ ...server.chunk(choices, output, false), ...(counts ? { usage: { prompt_tokens: 'x' } } : {}) }),
  }
  await leaveWaiting(scene, broken)
  const row = await eventually('the settlement', () => scene.rows()[0]?.settled)
  t.equal(row.estimated, true)
})

/** The same where the gateway waits for the final report. */
async function leaveWaiting(scene: Scene, server: Server): Promise<void> {
  await leave(scene, 'chat', server, 3)
}
