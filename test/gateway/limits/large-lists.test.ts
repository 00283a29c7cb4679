/** Requests whose lists are as long as they may be take time in proportion to their length: no list is searched for each entry of another. Runs with `npm run test:servers`. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { oneModel } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const HALF = 16_000
const UTTERANCES = { role: 'user', content: 'Hello' }
const range = <T>(count: number, of: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i))
const functionCall = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })
/** Each number below `count` once, in no order. */
const shuffled = (count: number): number[] => range(count, (i) => (i * 7_919) % count)

interface Case {
  name: string
  dialect: string
  path: string
  body: () => JsonObject
  more?: string
  status?: number
  /** Looks at what the provider got. */
  check?: (t: Test, sent: JsonObject) => void
}

/** Two turns of the model with as many calls as one may have. */
const turns = (id: (i: number) => string): JsonObject[] =>
  range(2, (turn) => ({ role: 'assistant', tool_calls: range(8_000, (i) => functionCall(id(turn * 8_000 + i))) }))
const results = (order: readonly number[], id: (i: number) => string): JsonObject[] =>
  order.map((i) => ({ role: 'tool', tool_call_id: id(i), content: `${i}` }))
const blocks = (message: unknown): JsonObject[] => (message as { content: JsonObject[] }).content

const CASES: readonly Case[] = [
  {
    name: 'work of subagents, and calls that they made',
    dialect: 'openai-chat',
    path: '/v1/responses',
    status: 400,
    body: () => ({
      model: 'acme/one',
      tools: [{ type: 'router:subagent' }],
      input: [
        UTTERANCES,
        ...range(HALF, (i) => ({ type: 'router:subagent', id: `s${i}`, call_id: `s${i}`, status: 'in_progress', task_name: 't' })),
        ...range(HALF, (i) => ({ type: 'function_call', call_id: `c${i}`, name: 'f', arguments: '{}', subagent_id: `s${HALF - 1}` })),
      ],
    }),
  },
  {
    name: 'results in another order than their calls',
    dialect: 'anthropic',
    path: '/v1/chat/completions',
    body: () => {
      const id = (i: number) => `c${i}`
      return { model: 'acme/one', messages: [UTTERANCES, ...turns(id), ...results(shuffled(16_000), id), UTTERANCES] }
    },
    check: (t, { messages }) => {
      const order = blocks((messages as JsonObject[])[2]).flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' ? [id] : []))
      t.same(
        order,
        range(16_000, (i) => `c${i}`),
        'in the order of the calls',
      )
    },
  },
  {
    name: 'ids of calls that differ in letters that the provider does not take',
    dialect: 'anthropic',
    path: '/v1/chat/completions',
    body: () => {
      const id = (i: number) => String.fromCodePoint(0x4e00 + i)
      return {
        model: 'acme/one',
        messages: [
          UTTERANCES,
          ...turns(id),
          ...results(
            range(16_000, (i) => i),
            id,
          ),
        ],
      }
    },
    check: (t, { messages }) => {
      const ids = blocks((messages as JsonObject[])[1]).map(({ id }) => id)
      t.same(ids.slice(0, 3), ['_', '__2', '__3'])
      t.equal(new Set(ids).size, 16_000)
    },
  },
  {
    name: "items of the gateway's own tools",
    dialect: 'openai-responses',
    path: '/v1/responses',
    body: () => ({
      model: 'acme/one',
      input: [...range(HALF, (i) => ({ type: 'router:web_search', id: `w${i}`, status: 'completed' })), ...range(HALF, () => UTTERANCES)],
    }),
    check: (t, { input }) => t.equal((input as unknown[]).length, HALF),
  },
  {
    name: 'more blocks of one turn than a function may have arguments',
    dialect: 'anthropic',
    path: '/v1/chat/completions',
    body: () => ({
      model: 'acme/one',
      messages: [UTTERANCES, ...range(24, () => ({ role: 'system', content: range(8_000, () => ({ type: 'text', text: 'a' })) }))],
    }),
    check: (t, { messages }) => t.equal(blocks((messages as JsonObject[])[0]).length, 24 * 8_000 + 1),
  },
  {
    name: 'matches of a guardrail across the borders of parts',
    dialect: 'openai-chat',
    path: '/v1/chat/completions',
    more: 'guardrails: [ { name: g, content_filter_builtins: [ { slug: email, action: redact } ] } ]\n',
    body: () => {
      const words = 'word '.repeat(100)
      const parts = range(8_000, (i) => ({ type: 'text', text: i % 2 ? `mple.com ${words}` : `${words}user${i}@exa` }))
      return { model: 'acme/one', messages: [{ role: 'user', content: parts }] }
    },
    check: (t, { messages }) => {
      const texts = blocks((messages as JsonObject[])[0]).map(({ text }) => String(text))
      t.notOk(texts.some((text) => text.includes('@') || text.includes('mple.com')))
      t.match(texts[0], /word \[EMAIL\]$/)
    },
  },
]

/** Seconds of processor time, ten times what a slow machine needs; a search for each entry took from 10 to 100. */
const MAX_SECONDS = 6

for (const { name, dialect, path, body, more = '', status = 200, check } of CASES)
  t.test(name, async (t) => {
    const { gateway, upstream } = await startScene(t, {
      answer: says({ text: ['ok'] }),
      config: (url) => `${more}${oneModel(url, dialect).replace('context: 128000', 'context: 100000000')}`,
    })
    const text = JSON.stringify(body())
    const before = process.cpuUsage()
    const reply = await gateway.post(path, text)
    const { user, system } = process.cpuUsage(before)
    t.equal(reply.status, status, (await reply.text()).slice(0, 200))
    const seconds = (user + system) / 1e6
    t.ok(seconds < MAX_SECONDS, `${seconds} s`)
    const sent = upstream.requests.at(-1)?.json
    if (check && sent) check(t, sent)
  })
