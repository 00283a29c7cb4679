/**
 * Draws docs/images/request-timeline.svg from a real request: a gateway, a provider that fails and one that answers slowly run here, the
 * request's spans are collected, and the times in the picture are theirs. By hand: `node scripts/request-timeline.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from '../src/core/json.ts'
import { type SeenSpan, startCollector } from '../test/support/collector.ts'
import { startGateway } from '../test/support/gateway.ts'
import { sseAnswer, startUpstream } from '../test/support/upstream.ts'
import { framesFor, upstreamError } from '../test/support/wire.ts'

const FILE = join(import.meta.dirname, '..', 'docs', 'images', 'request-timeline.svg')
const WORDS = ['A ', 'caller ', 'sees ', 'one ', 'reply, ', 'whichever ', 'provider ', 'wrote ', 'it.']
/** Milliseconds that the stand-ins take. */
const FAILS_AFTER = 45
const FIRST_AFTER = 60
const BETWEEN = 22

interface Run {
  readonly spans: readonly SeenSpan[]
  /** Milliseconds from the request to its first content at the caller. */
  readonly firstContent: number
  readonly total: number
  readonly generation: JsonObject
}

async function run(): Promise<Run> {
  const collector = await startCollector()
  const failing = await startUpstream(async () => {
    await wait(FAILS_AFTER)
    return upstreamError(503)
  })
  const serving = await startUpstream(async ({ path }) => {
    await wait(FIRST_AFTER)
    const pause = async (): Promise<undefined> => {
      await wait(BETWEEN)
      return undefined
    }
    return sseAnswer(framesFor(path, { text: WORDS }).flatMap((frame) => [pause, frame]))
  })
  const gateway = await startGateway(`
telemetry: { endpoint: "${collector.url}" }
providers:
  azure: { dialect: openai-chat, base_url: "${failing.url}/v1", key: k }
  openai: { dialect: openai-chat, base_url: "${serving.url}/v1", key: k }
models:
  openai/gpt-5-mini:
    context: 8192
    max_output: 1000
    endpoints:
      - { provider: azure, model: mini, price: { prompt: "0.25", completion: "2.00" } }
      - { provider: openai, model: mini, price: { prompt: "0.25", completion: "2.00" } }
provider: { order: [azure, openai] }
guardrails: [{ name: mail, content_filter_builtins: [{ slug: email, action: redact }] }]
`)
  const body = { model: 'openai/gpt-5-mini', stream: true, messages: [{ role: 'user', content: 'Write to ann@example.com' }] }
  let last: Omit<Run, 'spans'> | undefined
  // The first request warms the program; the picture is of the last one.
  for (let round = 0; round < 4; round++) {
    const begin = performance.now()
    const response = await gateway.post('/v1/chat/completions', body)
    let firstContent = 0
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      if (firstContent === 0 && chunk.includes('A ')) firstContent = performance.now() - begin
    const total = performance.now() - begin
    const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
    last = { firstContent, total, generation: ((await found.json()) as { data: JsonObject }).data }
  }
  await gateway.close()
  const all = [...collector.spans]
  await Promise.all([collector.close(), failing.close(), serving.close()])
  if (last === undefined) throw new Error('no request was made')
  const root = all.filter(({ kind, name }) => kind === 'SPAN_KIND_SERVER' && name.includes('chat')).at(-1)
  if (root === undefined) throw new Error('no span has come')
  return { ...last, spans: [root, ...all.filter(({ parentId }) => parentId === root.spanId)] }
}

const WIDTH = 760
const HEIGHT = 244
const LEFT = 128
const RIGHT = 24
const STYLE = `text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px } .small { font-size: 12px; fill: #59636e } .inside { fill: #fff }
.line { stroke: #d1d9e0 } .gateway { fill: #0969da } .fails { fill: #cf222e } .serves { fill: #1a7f37 } .waits { fill: #afb8c1 } .first { stroke: #9a6700; stroke-width: 1.5; stroke-dasharray: 4 4 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9198a1 } .inside { fill: #0d1117 } .line { stroke: #3d444d } .gateway { fill: #4493f8 } .fails { fill: #f85149 } .serves { fill: #3fb950 } .waits { fill: #3d444d } .first { stroke: #d29922 } }`

function drawn({ spans, firstContent, total, generation }: Run): string {
  const [root, ...calls] = spans
  if (root === undefined) throw new Error('no span has come')
  const ms = (at: bigint): number => Number(at - root.start) / 1e6
  const gatewayTime = ms(calls[0]?.start ?? root.start)
  const scale = (WIDTH - LEFT - RIGHT) / (total * 1.02)
  const x = (at: number): string => (LEFT + at * scale).toFixed(1)
  const bar = (kind: string, row: number, from: number, to: number): string =>
    `<rect class="${kind}" x="${x(from)}" y="${row}" width="${Math.max(1.5, (to - from) * scale).toFixed(1)}" height="16" rx="3"/>`
  const label = (row: number, text: string): string => `<text x="12" y="${row + 13}">${text}</text>`
  const note = (at: number, row: number, text: string, anchor = 'start'): string =>
    `<text class="small" x="${x(at)}" y="${row}" text-anchor="${anchor}">${text}</text>`
  const rows = calls.map((call, index) => {
    const row = 118 + index * 34
    const failed = call.status.toLowerCase().includes('error')
    const status = String(call.attributes['http.response.status_code'] ?? '')
    return [
      label(row, String(call.attributes['headgate.provider'])),
      bar(failed ? 'fails' : 'serves', row, ms(call.start), ms(call.end)),
      failed ? note(ms(call.end) + 4, row + 13, `${status}: the next provider is called`) : '',
    ].join('')
  })
  const cost = Number(generation.total_cost)
  const ticks = Array.from({ length: Math.floor(total / 50) + 1 }, (_, index) => index * 50)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="One streamed request: the first provider fails, the second one answers">`,
    `<style>${STYLE}</style>`,
    '<text class="title" x="12" y="24">One streamed request, whose first provider fails</text>',
    ...ticks.map(
      (tick) => `<line class="line" x1="${x(tick)}" y1="44" x2="${x(tick)}" y2="196"/>${note(tick, 212, `${tick} ms`, 'middle')}`,
    ),
    label(50, 'caller'),
    bar('waits', 50, 0, firstContent),
    bar('serves', 50, firstContent, total),
    `<text class="small inside" x="${x(firstContent + 4)}" y="62">one stream, as if nothing had happened</text>`,
    label(84, 'gateway'),
    bar('gateway', 84, 0, gatewayTime),
    note(8, 97, `${gatewayTime.toFixed(1)} ms: checks the key, redacts a mail address, holds the highest cost`),
    ...rows,
    `<line class="first" x1="${x(firstContent)}" y1="44" x2="${x(firstContent)}" y2="196"/>`,
    note(firstContent, 232, `first content after ${firstContent.toFixed(0)} ms`, 'middle'),
    note(total, 232, `settled: $${cost.toFixed(7)}`, 'end'),
    '</svg>',
  ].join('\n')
}

mkdirSync(dirname(FILE), { recursive: true })
writeFileSync(FILE, `${drawn(await run())}\n`)
console.log(FILE)
