/**
 * The callers of a soak: a fixed number of requests per second of every format, of which some leave before the reply, some
 * in the middle of it. Arguments: port of the gateway, requests per second, seconds of a burst at the beginning with half as
 * many requests again: what grows with the load has then met more than what follows. Sends counts to its parent every second.
 */

import { Agent, request as httpRequest } from 'node:http'
import { entryAt } from '../../src/core/entry-at.ts'
import { leaveWithParent } from '../child.ts'
import { BENCH_KEY } from '../requests.ts'

const [port = Number.NaN, rate = Number.NaN, burst = Number.NaN] = process.argv.slice(2).map(Number)
/** Milliseconds. */
const TICK = 10
/** Share of the callers that leave early, half of them before the first byte. */
const LEAVING = 0.05
const PROMPT = 'The committee met on Tuesday to discuss the plans for the new library. '.repeat(24)

const chat = { messages: [{ role: 'user', content: PROMPT }] }
/** Format, wire of the provider and share of the load. */
const KINDS: readonly { path: string; model: string; share: number; body: object }[] = [
  { path: '/v1/chat/completions', model: 'soak/chat', share: 0.35, body: chat },
  { path: '/v1/responses', model: 'soak/responses', share: 0.2, body: { input: PROMPT } },
  { path: '/v1/responses', model: 'soak/chat', share: 0.1, body: { input: PROMPT } },
  { path: '/v1/messages', model: 'soak/messages', share: 0.15, body: { max_tokens: 300, ...chat } },
  { path: '/v1/messages', model: 'soak/chat', share: 0.05, body: { max_tokens: 300, ...chat } },
  { path: '/v1/embeddings', model: 'soak/vectors', share: 0.15, body: { input: PROMPT.slice(0, 200) } },
]
let sum = 0
const bodies = KINDS.map(({ path, model, body, share }) => {
  sum += share
  const streams = path !== '/v1/embeddings'
  return {
    path,
    below: sum,
    plain: JSON.stringify({ model, ...body }),
    streamed: streams ? JSON.stringify({ model, ...body, stream: true }) : undefined,
  }
})

const agent = new Agent({ keepAlive: true, maxSockets: 2000 })
const counts: { sent: number; [outcome: string]: number } = { sent: 0, open: 0, left: 0, broken: 0 }
const count = (name: string, by = 1): void => {
  counts[name] = (counts[name] ?? 0) + by
}

function kind(): { path: string; text: string } {
  const chance = Math.random()
  const found = bodies.find(({ below }) => chance < below) ?? entryAt(bodies, 0)
  return { path: found.path, text: (Math.random() < 0.5 ? found.streamed : undefined) ?? found.plain }
}

function ask(): void {
  const { path, text } = kind()
  const leaves = Math.random() < LEAVING ? Math.random() * 2 : 2
  const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', agent, headers })
  count('sent')
  count('open', 1)
  let over = false
  const end = (name: string): void => {
    if (over) return
    over = true
    count('open', -1)
    count(name)
  }
  request.on('error', () => end('broken'))
  request.on('close', () => end('broken'))
  request.on('response', (response) => {
    response.on('error', () => end('broken'))
    response.on('data', () => {
      if (leaves >= 2) return
      end('left')
      request.destroy()
    })
    response.on('end', () => end(String(response.statusCode)))
  })
  request.end(text)
  if (leaves < 1)
    setTimeout(() => {
      end('left')
      request.destroy()
    }, leaves * 20)
}

leaveWithParent()
const begun = performance.now()
setInterval(() => {
  const seconds = (performance.now() - begun) / 1000
  // A generator that was held up does not send at once what it has missed.
  const due = Math.min((seconds + Math.min(seconds, burst) / 2) * rate, counts.sent + rate / 10)
  while (counts.sent < due) ask()
}, TICK)
setInterval(() => process.send?.({ counts }), 1000)
process.send?.({ port: 0 })
