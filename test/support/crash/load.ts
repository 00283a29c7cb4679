/** Callers that ask one thing after the other over connections of their own, until the gateway is gone. */

import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { entryAt } from '../../../src/core/entry-at.ts'

/** A reply that a caller has read to its proper end. */
export interface Received {
  readonly id: string
  readonly path: string
  /** Tokens of input that it reported. */
  readonly input: number
}

export interface LoadOptions {
  url: string
  key: string
  connections: number
  random: () => number
  /** Milliseconds of silence after which a connection counts as failed; absent: none. */
  timeoutMs?: number
  /** True once the gateway is known to be on its way out: only then may a connection fail. */
  ending: () => boolean
}

const PATHS = ['/v1/chat/completions', '/v1/responses']

/** Behaviour of a caller: it reads to the end, leaves early, stops reading, or sets a deadline that its answer may miss. */
export type Conduct = 'reads' | 'leaves' | 'stalls' | 'deadline'

export interface Asked extends Pick<LoadOptions, 'url' | 'key' | 'random' | 'timeoutMs'> {
  /** `reads` by default. */
  conduct?: Conduct
}

/** Milliseconds after which a caller leaves, at most, and of the deadline that it sets. */
const SOON = 60
/** Milliseconds for which a caller that stops reading keeps its connection. */
const STALL = 1_500

/** @returns the replies that were whole. @throws where a connection failed although nobody ended the gateway. */
export async function load(options: LoadOptions): Promise<Received[]> {
  const received: Received[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections })
  const one = async (): Promise<void> => {
    while (!options.ending()) {
      try {
        const reply = await ask(options, agent)
        if (reply) received.push(reply)
      } catch (error) {
        if (!options.ending()) throw error
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: options.connections }, one))
  } finally {
    agent.destroy()
  }
  return received
}

const FAILURE = /"error":\{|"response\.failed"/

/** One request of a random kind. @returns what came, if it was whole and good. @throws where the connection failed. */
export async function ask(options: Asked, agent: Agent): Promise<Received | undefined> {
  const path = entryAt(PATHS, options.random() < 0.5 ? 0 : 1)
  const stream = options.random() < 0.5
  const question = path.endsWith('responses') ? { input: 'Hello' } : { messages: [{ role: 'user', content: 'Hello' }] }
  const reply = await post({ ...options, url: `${options.url}${path}` }, JSON.stringify({ model: 'acme/one', stream, ...question }), agent)
  if (options.conduct === 'stalls') return stall(reply)
  const text = await replyText(reply)
  if (reply.statusCode !== 200 || (stream && !text.endsWith('data: [DONE]\n\n'))) return undefined
  const [, input] = /"(?:prompt|input)_tokens":(\d+)/.exec(text) ?? []
  // A stream that ended in an error reports nothing that was charged.
  if (!input || FAILURE.test(text)) return undefined
  return { id: String(reply.headers['x-generation-id']), path, input: Number(input) }
}

function post({ url, key, timeoutMs, conduct, random }: Asked, body: string, agent: Agent): Promise<IncomingMessage> {
  const deadline = conduct === 'deadline' ? { 'x-router-deadline': `${1 + Math.floor(random() * SOON)}ms` } : {}
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...deadline,
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', agent, headers, timeout: timeoutMs }, resolve).on('error', reject)
    request.on('timeout', () => request.destroy(new Error('nothing came any more'))).end(body)
    if (conduct !== 'leaves') return
    const timer = setTimeout(() => request.destroy(new Left()), random() * SOON)
    request.on('close', () => clearTimeout(timer))
  })
}

/** The caller ended the connection itself. */
export class Left extends Error {}

/** Reads nothing of the body and then leaves. */
async function stall(reply: IncomingMessage): Promise<undefined> {
  reply.on('error', () => undefined)
  await new Promise((resolve) => setTimeout(resolve, STALL))
  reply.destroy()
}

/** @throws where the body breaks off, but for a stream behind its error: the body of a failed answer has no proper end. */
async function replyText(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of reply) chunks.push(chunk as Buffer)
  } catch (error) {
    if (!FAILURE.test(Buffer.concat(chunks).toString())) throw error
  }
  return Buffer.concat(chunks).toString()
}
