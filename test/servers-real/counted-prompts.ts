/** Token counts of a server that has a counter: each conversation as the server itself counts it, and prompts around the end of its context. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import type { GenerationRecord } from '../../src/ledger/types.ts'
import { eventually } from '../support/eventually.ts'
import { object } from '../support/fold.ts'
import type { Gateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { CONVERSATIONS } from './conversations.ts'
import { directReply, expectedReply, MODELS, type ServedWire } from './same-reply.ts'

interface Counting {
  readonly gateway: Gateway
  readonly url: string
  readonly wires: readonly ServedWire[]
  /** The largest output cap that the server takes. */
  readonly largestCap?: number
}

/** The lists of providers are fetched while the gateway serves already. */
const isListed = (gateway: Gateway, model: string): Promise<unknown> =>
  eventually('the list', async () => (await gateway.get(`/v1/models/${model}`)).status === 200)

/** The count of `count_tokens` is what the server states in its reply to the same conversation. */
export async function testCounts(t: Test, { gateway, url, wires, largestCap = Number.POSITIVE_INFINITY }: Counting): Promise<void> {
  await t.test('the tokens of a prompt are counted by the server', async (t) => {
    for (const wire of wires) await isListed(gateway, MODELS[wire])
    for (const { name, asked } of CONVERSATIONS.filter(({ asked }) => asked.effort === undefined && asked.choice === undefined))
      for (const wire of wires) {
        const capped = { ...asked, cap: Math.min(asked.cap, largestCap) }
        const input = expectedReply('openai-chat', await directReply(url, 'openai-chat', capped)).usage?.input
        const body = CLIENTS.find(({ id }) => id === 'messages')?.write(asked)
        const response = await gateway.post('/v1/messages/count_tokens', { ...body, model: MODELS[wire] })
        t.equal(((await response.json()) as JsonObject).input_tokens, input, `${name}, ${wire}`)
      }
  })
}

/** Words whose tokens are fewer than the estimate, so that it takes what fits for too long. */
const words = (count: number): JsonObject => ({ messages: [{ role: 'user', content: 'hello world '.repeat(count) }] })

interface NearEnd {
  readonly gateway: Gateway
  /** Tokens of the server's context. */
  readonly context: number
}

/** Prompts that nearly fill the context, that leave less than the cap, and that are too long. */
export async function testNearEnd(t: Test, { gateway, context }: NearEnd): Promise<void> {
  const model = MODELS['openai-chat']
  const countedTokens = async (count: number): Promise<number> => {
    const response = await gateway.post('/v1/messages/count_tokens', { model, ...words(count) })
    return Number(((await response.json()) as JsonObject).input_tokens)
  }
  await t.test('near the end of its context', async (t) => {
    await isListed(gateway, model)
    const [one, hundred] = [await countedTokens(1), await countedTokens(101)]
    const each = (hundred - one) / 100
    const wordsFor = (tokens: number): number => 1 + Math.floor((tokens - one) / each)
    for (const left of [context / 4, 40, 1]) {
      const asked = words(wordsFor(context - left))
      const tokens = await countedTokens(wordsFor(context - left))
      const response = await gateway.post('/v1/chat/completions', { model, ...asked, max_tokens: context / 2, temperature: 0 })
      t.equal(response.status, 200, `${tokens} tokens of ${context}`)
      const { usage } = (await response.json()) as JsonObject
      const { prompt_tokens: prompt, completion_tokens: completion } = object(usage)
      t.equal(prompt, tokens, 'as the server counts it')
      t.ok(Number(completion) <= context - tokens, `${completion} tokens of output`)
    }
    for (const beyond of [1, context / 8]) {
      const refused = await gateway.post('/v1/messages', { model, ...words(wordsFor(context + beyond) + 1), max_tokens: 10 })
      t.equal(refused.status, 400, `${beyond} tokens too many`)
      t.match(object(((await refused.json()) as JsonObject).error).message, /prompt is too long/)
    }
  })
}

/** Reads so many pieces of a stream. @returns how many have come, which may be more. */
async function readPieces(response: Response, least: number): Promise<number> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; ; ) {
    const pieces = text.split('"content":"').length - 1
    if (pieces >= least) return pieces
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) throw new Error('the stream ended too early')
    text += decoder.decode(value, { stream: true })
  }
}

/** A caller leaves a long answer: what it is charged is the server's own count of what it has written. */
export async function testLeft(t: Test, { gateway, url }: Pick<Counting, 'gateway' | 'url'>): Promise<void> {
  await t.test('an answer that is left is charged by the count of the server', async (t) => {
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
      body: JSON.stringify({
        model: MODELS['openai-chat'],
        stream: true,
        temperature: 0,
        messages: [{ role: 'user', content: 'forever' }],
        max_tokens: 3000,
      }),
      signal: leaving.signal,
    })
    const pieces = await readPieces(response, 5)
    leaving.abort()
    const isLeft = ({ settled }: GenerationRecord): boolean => settled?.status === 'aborted'
    const { settled } = await eventually('its record', () => [...gateway.running.store.journal.export()].find(isLeft))
    const direct = await directReply(url, 'openai-chat', { turns: [{ user: [{ text: 'forever' }] }], cap: 1 })
    t.same([settled?.estimated, settled?.input], [false, expectedReply('openai-chat', direct).usage?.input])
    t.ok((settled?.output ?? 0) >= pieces, `${settled?.output} tokens of output in at least ${pieces} pieces`)
  })
}
