/**
 * Time for which hostile and large documents block the event loop of a gateway: `node bench/documents.ts [runs] [part of a name]`.
 * The gateway runs in this process; site, model and client in another. Each line is one request whose model reads one
 * document by `router:web_fetch`. What counts is the longest time in which the main thread could do nothing else: the gap
 * between two looks at the clock a millisecond apart, without the time in which that thread only waited for a core that
 * others on the machine had (Linux tells it in /proc), and with it. Ends with code 1 where the former passes 20 ms.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { start } from '../src/app/start.ts'
import { entryAt } from '../src/core/entry-at.ts'
import { buildDocx, buildPdf, paragraph, pdfWith } from '../test/support/documents.ts'

const RUNS = Number(process.argv[2] ?? 5)
const WANTED = process.argv[3] ?? ''
const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'
/** Milliseconds. */
const GOAL = 20
const HOST = '127.0.0.2'
const WORDS = 'lorem ipsum dolor sit amet, consectetur adipiscing elit '

interface Page {
  body: Buffer
  type: string
  headers?: Record<string, string>
}

const html = (body: string): Page => ({ body: Buffer.from(body), type: 'text/html' })

const longPdf = (): Page => ({
  body: buildPdf(
    Array.from({ length: 500 }, (_, i) => `Page ${i}\n${`${WORDS}\n`.repeat(45)}`),
    { packed: true },
  ),
  type: 'application/pdf',
})

const PAGES: Readonly<Record<string, () => Page>> = {
  'nothing (no tool is used)': () => html(''),
  'a page of 100 KB': () => html(`<title>x</title><article>${`<p>${WORDS.repeat(5)}</p>`.repeat(350)}</article>`),
  'a page of 9 MB': () => html(`<article>${`<p>${WORDS.repeat(50)}</p>`.repeat(3200)}</article>`),
  'a PDF of 500 pages': longPdf,
  'the same, all of it': longPdf,
  'a docx of 2,000 paragraphs': () => ({ body: buildDocx(paragraph(WORDS.repeat(10)).repeat(2000)), type: 'application/octet-stream' }),
  'a page of 50 MB': () => html('<p>x'.repeat(12_500_000)),
  'deep nesting': () => html(`${'<div>'.repeat(1_500_000)}x`),
  'many elements': () => html('<p>word <b>word</b></p>'.repeat(400_000)),
  'a huge attribute': () => html(`<a href="${'x'.repeat(9_000_000)}">x</a>`),
  'a gzip bomb': () => ({ body: gzipSync(Buffer.alloc(500_000_000)), type: 'text/html', headers: { 'content-encoding': 'gzip' } }),
  'a PDF bomb': () => ({
    body: pdfWith([{ bytes: deflateSync(deflateSync(Buffer.alloc(1_000_000_000, 0x20))), filter: '/Filter [/FlateDecode /FlateDecode]' }]),
    type: 'application/pdf',
  }),
  'a docx bomb': () => ({
    body: buildDocx(paragraph('x'), [{ name: 'word/x.xml', bytes: Buffer.alloc(500_000_000), says: 100 }]),
    type: 'application/octet-stream',
  }),
}

interface Ports {
  site: number
  model: number
}

if (process.send) await outside()
else await measure()

async function measure(): Promise<void> {
  const child = fork(import.meta.filename)
  const [{ site, model }] = (await once(child, 'message')) as [Ports]
  const configText = `
server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "memory:" }
auth: { keys: [ { name: bench, key: "${KEY}" } ] }
plugins: { defaults: { web-fetch: { allow_private: ["${HOST}:${site}"] } } }
providers: { stand-in: { dialect: openai-chat, base_url: "http://127.0.0.1:${model}/v1", key: sk-x } }
models:
  acme/one: { context: 8000000, max_output: 4096, endpoints: [ { provider: stand-in, model: one, price: free } ] }
`
  const gateway = await start({ configFile: 'bench.yaml', configText, env: {}, log: () => {} })
  const ask = async (name: string): Promise<[status: string, ms: number]> => {
    child.send({ url: gateway.url, name })
    const [answer] = (await once(child, 'message')) as [[string, number]]
    return answer
  }
  console.log(
    `${'document'.padEnd(28)} ${'result'.padEnd(62)} ${'ms'.padStart(7)}   longest stall, ms: median, worst; with waiting for a core`,
  )
  for (const name of Object.keys(PAGES).filter((each) => each.includes(WANTED))) {
    await ask(name)
    const stalls: Stall[] = []
    const times: number[] = []
    let result = ''
    for (let run = 0; run < RUNS; run++) {
      const stop = watch()
      const [status, ms] = await ask(name)
      stalls.push(stop())
      times.push(ms)
      result = status
    }
    const own = spread(stalls.map((stall) => stall.own))
    const wall = spread(stalls.map((stall) => stall.wall))
    if (own.worst > GOAL) process.exitCode = 1
    const figures = [own.median, own.worst, wall.median, wall.worst].map((ms) => ms.toFixed(1).padStart(7)).join(' ')
    console.log(`${name.padEnd(28)} ${result.padEnd(62)} ${spread(times).median.toFixed(0).padStart(7)}   ${figures}`)
  }
  await gateway.close()
  child.disconnect()
}

interface Stall {
  /** Without the wait for a core. */
  own: number
  wall: number
}

/** Milliseconds that the main thread has waited for a core so far. */
function waited(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
}

/** Looks at the clocks every millisecond. @returns what stops it and tells the longest gaps, in milliseconds. */
function watch(): () => Stall {
  const longest: Stall = { own: 0, wall: 0 }
  let last = { wall: performance.now(), waited: waited() }
  const look = (): void => {
    const now = { wall: performance.now(), waited: waited() }
    const gap = now.wall - last.wall
    longest.wall = Math.max(longest.wall, gap)
    longest.own = Math.max(longest.own, gap - (now.waited - last.waited))
    last = now
  }
  const timer = setInterval(look, 1)
  return () => {
    look()
    clearInterval(timer)
    return longest
  }
}

function spread(figures: readonly number[]): { median: number; worst: number } {
  const sorted = figures.toSorted((a, b) => a - b)
  return { median: entryAt(sorted, sorted.length >> 1), worst: entryAt(sorted, sorted.length - 1) }
}

/** The other process: site, model and client. */
async function outside(): Promise<void> {
  let page: Page = html('')
  let name = ''
  let address = ''
  let told = ''
  const site = await listening(HOST, (request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': page.type, ...page.headers }).end(page.body)
  })
  address = `http://${HOST}:${site}/`
  const model = await listening('127.0.0.1', async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: { role: string; content: string }[] }
    const result = messages.find(({ role }) => role === 'tool')
    if (result) told = result.content
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'router_web_fetch', arguments: JSON.stringify({ url: address }) } }]
    const calling = !result && !name.startsWith('nothing')
    const message = calling ? { role: 'assistant', content: null, tool_calls: calls } : { role: 'assistant', content: 'Read.' }
    const choices = [{ index: 0, message, finish_reason: calling ? 'tool_calls' : 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'one',
        choices,
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    )
  })
  process.on('message', async ({ url, name: next }: { url: string; name: string }) => {
    const make = PAGES[next]
    if (!make) throw new Error(`no page ${next}`)
    if (next !== name) page = make()
    name = next
    told = '{}'
    const began = performance.now()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'acme/one',
        messages: [{ role: 'user', content: 'Read it.' }],
        tools: [{ type: 'router:web_fetch', parameters: name.endsWith('all of it') ? { max_content_tokens: 1_000_000 } : {} }],
      }),
    })
    await response.text()
    const { status = 'none', error = '' } = JSON.parse(told) as { status?: string; error?: string }
    process.send?.([`${response.status} ${status} ${error}`.trim(), performance.now() - began])
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ site, model } satisfies Ports)
}

async function listening(host: string, respond: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(respond)
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
