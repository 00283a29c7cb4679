/**
 * Responses over many WebSockets: `node bench/websockets.ts [--connections 1000] [--turns 10] [--at-once 50] [--aborts 100] [--json]`.
 * Opens the connections, holds all of them, and requests the responses of each one after the other, each continuing the one before, so
 * many at once over all connections.
 * The provider, in this process, checks that it gets every conversation whole; the client checks each event's number and text.
 * Then some clients leave in mid-response: printed is how long the provider sees nothing of it, beyond the time for which a provider is
 * read on for its final report. Ends with code 1 when anything is lost or a goal is missed.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { startGateway } from './gateway.ts'
import { killChildrenOnExit, residentMegabytes } from './processes.ts'
import { BENCH_KEY } from './requests.ts'

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '50' },
    aborts: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
  },
})
const CONNECTIONS = Number(values.connections)
const TURNS = Number(values.turns)
const ABORTS = Number(values.aborts)

/** Milliseconds for which a provider is read on for its final report (`pipeline/attempt/upstream-attempt.ts`). */
const READ_ON = 2_000
const GOAL_ABORT_MS = 100
const START_MS = 300_000

interface Item {
  role?: string
  content?: unknown
}

/** When the provider's side of a response that waits was closed, by the text of its request. */
const closed = new Map<string, number>()
const wrong: string[] = []
/** Requests that failed before their first event, and were sent again. */
let repeated = 0

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** Streams the text of the last message, word by word. */
function answer(response: ServerResponse, input: readonly Item[]): void {
  const text = String(input.at(-1)?.content)
  const [, turn] = text.split(' ')
  if (turn !== 'waits' && input.length !== 2 * Number(turn) - 1) wrong.push(`${text}: the provider got ${input.length} items`)
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const item = { id: 'msg_1', type: 'message', role: 'assistant' }
  const part = { type: 'output_text', text, annotations: [] }
  const whole = { ...item, status: 'completed', content: [part] }
  let number = 0
  const say = (type: string, fields: object): boolean => response.write(event(type, { sequence_number: number++, ...fields }))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  say('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } })
  say('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } })
  say('response.content_part.added', { ...place, part: { ...part, text: '' } })
  for (const word of text.split(/(?<= )/)) say('response.output_text.delta', { ...place, delta: word })
  if (turn === 'waits') {
    response.on('close', () => closed.set(text, performance.now()))
    return
  }
  say('response.output_text.done', { ...place, text })
  say('response.content_part.done', { ...place, part })
  say('response.output_item.done', { output_index: 0, item: whole })
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 }
  say('response.completed', { response: { id: 'resp_1', status: 'completed', output: [whole], usage } })
  response.end()
}

async function provide(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  if (request.url === '/v1/responses') answer(response, (JSON.parse(body) as { input: Item[] }).input)
  else {
    const message = { role: 'assistant', content: 'fine' }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    )
  }
}

interface Message {
  type: string
  status?: number
  sequence_number?: number
  delta?: string
  response?: { id: string }
}

const turnText = (at: number, turn: number): string => `${at} ${turn} word`

/**
 * One response of a conversation. Where the gateway or the provider has no time now it is requested again, with the whole conversation:
 * a response whose continuation fails is forgotten. @returns the id of the response, undefined where it was cut.
 */
async function respond(ws: WebSocket, at: number, turn: number, previous: string | undefined): Promise<string | undefined> {
  const text = turnText(at, turn)
  const last = { role: 'user', content: text }
  let id = await request(ws, text, { input: previous === undefined ? wholeInput(at, turn) : [last], previous_response_id: previous })
  while (id === 'failed') {
    repeated++
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    id = await request(ws, text, { input: wholeInput(at, turn) })
  }
  return id
}

/** The items of a conversation up to the request of a turn. */
function wholeInput(at: number, turn: number): Item[] {
  const items: Item[] = []
  for (let earlier = 1; earlier < turn; earlier++) {
    const content = turnText(at, earlier)
    items.push({ role: 'user', content }, { role: 'assistant', content })
  }
  return [...items, { role: 'user', content: turnText(at, turn) }]
}

function request(ws: WebSocket, text: string, body: object): Promise<string | undefined> {
  return new Promise((resolve) => {
    let next = 0
    let utterance = ''
    const end = (id: string | undefined): void => {
      ws.off('message', take)
      ws.off('close', left)
      resolve(id)
    }
    const left = (): void => end(undefined)
    const take = (data: Buffer): void => {
      const message = JSON.parse(data.toString()) as Message
      if ((message.status ?? 0) >= 500 && next === 0) {
        end('failed')
        return
      }
      if (message.sequence_number !== next++) wrong.push(`${text}: event ${next - 1} is ${data.toString().slice(0, 200)}`)
      if (message.type === 'response.output_text.delta') utterance += message.delta
      if (message.type !== 'response.completed' && message.type !== 'error') return
      if (utterance !== text) wrong.push(`${text}: the client got ${utterance}`)
      end(message.response?.id)
    }
    ws.on('message', take)
    ws.on('close', left)
    ws.send(JSON.stringify({ type: 'response.create', model: 'bench/responses', ...body }))
  })
}

async function open(port: number): Promise<WebSocket> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, { headers: { authorization: `Bearer ${BENCH_KEY}` } })
  ws.on('error', () => {})
  await once(ws, 'open')
  return ws
}

/** @returns milliseconds from the end of the client's connection to the end of the provider's. */
async function leave(port: number, at: number): Promise<number> {
  const ws = await open(port)
  const text = `${at} waits `
  const begun = new Promise<void>((resolve) => {
    ws.on('message', (data) => {
      if (data.toString().includes('output_text.delta')) resolve()
    })
  })
  ws.send(JSON.stringify({ type: 'response.create', model: 'bench/responses', input: [{ role: 'user', content: text }] }))
  await begun
  const left = performance.now()
  if (at % 2 === 0) ws.terminate()
  else ws.close()
  while (!closed.has(text)) await new Promise((resolve) => setTimeout(resolve, 10))
  return (closed.get(text) ?? 0) - left
}

async function main(): Promise<void> {
  killChildrenOnExit()
  const provider = createServer((request, response) => void provide(request, response))
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const gateway = await startGateway((provider.address() as AddressInfo).port, { startMs: START_MS })
  const pid = gateway.child.pid ?? 0
  // The code of the WebSockets is loaded with the first one.
  await respond(await open(gateway.port), 0, 1, undefined)
  const before = residentMegabytes(pid)
  const sockets: WebSocket[] = []
  while (sockets.length < CONNECTIONS) sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => open(gateway.port)))))
  const held = residentMegabytes(pid)
  const began = performance.now()
  let done = 0
  const waiting = Array.from({ length: TURNS }, (_, turn) => sockets.map((ws, at) => ({ ws, at, turn: turn + 1 }))).flat()
  const previous = new Map<number, Promise<string | undefined>>()
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { ws, at, turn } = next
      const last = previous.get(at) ?? Promise.resolve(undefined)
      const reply = last.then((id) => respond(ws, at, turn, id))
      previous.set(at, reply)
      if ((await reply) !== undefined) done++
    }
  }
  await Promise.all(Array.from({ length: Math.min(Number(values['at-once']), CONNECTIONS) }, work))
  const seconds = (performance.now() - began) / 1000
  const after = residentMegabytes(pid)
  const alive = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length
  const aborts: number[] = []
  for (let at = 0; at < ABORTS; at += 20) {
    const group = Array.from({ length: Math.min(20, ABORTS - at) }, (_, more) => leave(gateway.port, at + more))
    aborts.push(...(await Promise.all(group)))
  }
  const beyond = aborts.map((ms) => ms - READ_ON).sort((a, b) => a - b)
  const [median, last] = [beyond[Math.floor(beyond.length / 2)] ?? 0, beyond.at(-1) ?? 0]
  await gateway.stop()
  const kilobytes = ((held - before) * 1024) / CONNECTIONS
  if (values.json) console.log(JSON.stringify({ done, repeated, seconds, alive, kilobytes, before, held, after, median, last, wrong }))
  else {
    console.log(
      `${alive} of ${sockets.length} connections held, ${done} of ${CONNECTIONS * TURNS} responses in ${seconds.toFixed(1)} s, ${wrong.length} wrong, ${repeated} sent again after a 5xx`,
    )
    console.log(
      `memory ${before.toFixed(0)} MB before, ${held.toFixed(0)} MB with all idle (${kilobytes.toFixed(1)} KB each), ${after.toFixed(0)} MB after`,
    )
    console.log(
      `${beyond.length} left in mid-response: the provider's end came ${median.toFixed(0)} ms (median), ${last.toFixed(0)} ms (last) after the ${READ_ON} ms`,
    )
    for (const one of wrong.slice(0, 10)) console.log(`wrong: ${one}`)
  }
  if (done !== CONNECTIONS * TURNS || alive !== sockets.length || wrong.length > 0 || last > GOAL_ABORT_MS) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)
