/** Several calls in one reply: one that is complete has ended before the next begins, and interleaved ones stay apart. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { foldChatStream, foldResponseStream, list, object, parseStream } from '../../support/fold.ts'
import { foldMessageStream } from '../../support/fold-messages.ts'
import { startScene } from '../../support/scene.ts'
import { sseAnswer } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

type Piece = readonly [index: number, args: string]

/** A chat stream with two calls whose arguments come in this order. */
function chat(pieces: readonly Piece[]): string[] {
  const begun = new Set<number>()
  const chunk = (delta: JsonObject, reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const calls = pieces.map(([index, args]) => {
    const head = begun.has(index) ? {} : { id: `call_${index}`, type: 'function' }
    const name = begun.has(index) ? {} : { name: `f${index}` }
    begun.add(index)
    return chunk({ tool_calls: [{ index, ...head, function: { ...name, arguments: args } }] })
  })
  const last = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`
  return [...calls, chunk({}, 'tool_calls'), last, 'data: [DONE]\n\n']
}

const ORDERED: readonly Piece[] = [
  [0, ''],
  [0, '{"a"'],
  [0, ':{"b":"}"}}'],
  [1, ''],
  [1, '{"c":'],
  [1, '2}'],
  [2, '{}'],
  [3, '{"d":4}'],
]
const INTERLEAVED: readonly Piece[] = [
  [0, ''],
  [1, ''],
  [0, '{"a"'],
  [1, '{"c":'],
  [0, ':{"b":"}"}}'],
  [2, '{}'],
  [1, '2}'],
  [3, '{"d":4}'],
]
const CALLS = ['{"a":{"b":"}"}}', '{"c":2}', '{}', '{"d":4}']

let pieces = ORDERED
const DIALECTS = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }
const { gateway } = await startScene(t, {
  answer: (seen) => {
    if (seen.path.endsWith('/chat/completions')) return sseAnswer(chat(pieces))
    return answerFor(seen, {
      calls: CALLS.map((args, index) => ({
        id: `call_${index}`,
        name: `f${index}`,
        args: [args.slice(0, 3), args.slice(3)].filter((each) => each !== ''),
      })),
    })
  },
  config: (url) => `
providers:
${Object.entries(DIALECTS)
  .map(([dialect, path]) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}${path}", key: k }`)
  .join('\n')}
models:
${Object.keys(DIALECTS)
  .map((dialect) => `  m/${dialect}: { endpoints: [ { provider: ${dialect}, model: up, price: free } ] }`)
  .join('\n')}
`,
})

const parameters = { type: 'object' }
const BODIES: Readonly<Record<string, JsonObject>> = {
  '/v1/responses': { input: 'Hello', tools: [0, 1, 2, 3].map((n) => ({ type: 'function', name: `f${n}`, parameters })) },
  '/v1/chat/completions': {
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [0, 1, 2, 3].map((n) => ({ type: 'function', function: { name: `f${n}`, parameters } })),
  },
  '/v1/messages': {
    max_tokens: 99,
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [0, 1, 2, 3].map((n) => ({ name: `f${n}`, input_schema: parameters })),
  },
}

const ask = async (path: string, dialect: string): Promise<string> => {
  const response = await gateway.post(path, { model: `m/${dialect}`, stream: true, ...BODIES[path] })
  return response.text()
}

/** Numbers of the items that are open after each event that opens or closes one. */
function openItems(events: readonly JsonObject[]): number[][] {
  const open = new Set<number>()
  return events.flatMap(({ type, output_index: index }) => {
    if (type === 'response.output_item.added') open.add(Number(index))
    else if (type === 'response.output_item.done') open.delete(Number(index))
    else return []
    return [[...open]]
  })
}

for (const dialect of Object.keys(DIALECTS))
  await every(t, `${dialect}: calls in sequence`, async (t) => {
    pieces = ORDERED
    const text = await ask('/v1/responses', dialect)
    t.same(openItems(parseStream(text)), [[0], [], [1], [], [2], [], [3], []], 'at most one is open')
    t.same(
      foldResponseStream(text).calls.map(({ args }) => args),
      CALLS,
    )
    t.same(
      foldMessageStream(await ask('/v1/messages', dialect)).calls.map(({ args }) => args),
      CALLS,
    )
    t.same(
      foldChatStream(await ask('/v1/chat/completions', dialect)).calls.map(({ args }) => args),
      CALLS,
    )
  })

await every(t, 'interleaved calls stay apart', async (t) => {
  pieces = INTERLEAVED
  for (const [path, fold] of [
    ['/v1/messages', foldMessageStream],
    ['/v1/chat/completions', foldChatStream],
  ] as const)
    t.same(
      fold(await ask(path, 'openai-chat')).calls.map(({ args }) => args),
      CALLS,
      path,
    )
  const last = object(parseStream(await ask('/v1/responses', 'openai-chat')).at(-1)?.response)
  t.match(
    list(last.output),
    CALLS.map((args) => ({ status: 'completed', arguments: args })),
  )
})
