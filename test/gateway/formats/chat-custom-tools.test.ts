/**
 * Tools of the type `custom` of chat callers at providers that know functions alone, and at one that knows them
 * (types of openai 7.57.0: `ChatCompletionCustomTool`, `ChatCompletionMessageCustomToolCall`).
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import type { Seen } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

const PATCH = '*** Begin Patch\n+größer 😀 "a\\b"\n*** End Patch\n'
const TOOLS: JsonObject[] = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
  {
    type: 'custom',
    custom: {
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "*** Begin Patch"' } },
    },
  },
  { type: 'custom', custom: { name: 'note' } },
]
const user = { role: 'user', content: 'Hello' }

let utterance: Utterance = {}
const PATHS: Readonly<Record<string, string>> = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }
const DIALECTS = Object.keys(PATHS)
const { gateway, upstream } = await startScene(t, {
  answer: (seen) => answerFor(seen, utterance),
  config: (url) => `
providers:
${DIALECTS.map((dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}${PATHS[dialect]}", key: k }`).join('\n')}
  full: { dialect: openai-chat, base_url: "${url}/v1", key: k, quirks: { custom_tools: true } }
models:
${[...DIALECTS, 'full'].map((name) => `  m/${name}: { endpoints: [ { provider: ${name}, model: up, price: free } ] }`).join('\n')}
`,
})

async function ask(dialect: string, body: JsonObject): Promise<{ status: number; text: string }> {
  const response = await gateway.post(
    '/v1/chat/completions',
    { model: `m/${dialect}`, tools: TOOLS, messages: [user], ...body },
    { 'x-router-metadata': 'enabled' },
  )
  return { status: response.status, text: await response.text() }
}

const lastSeen = (): Seen => {
  const seen = upstream.requests.at(-1)
  if (!seen) throw new Error('no request')
  return seen
}

/** Pieces of a text, as models cut them: within escapes, too. */
const cut = (text: string, length: number): string[] => text.match(new RegExp(`.{1,${length}}`, 'gs')) ?? []

/** The calls of a stream, joined as clients join them. */
function joined(events: readonly JsonObject[]): JsonObject[] {
  const calls: JsonObject[] = []
  for (const event of events)
    for (const piece of list(object(object(list(event.choices)[0]).delta).tool_calls)) {
      const { index, id, type, custom, function: called } = piece
      const at = Number(index)
      const before = calls[at] ?? {}
      const grow = (old: unknown, more: unknown, field: string): JsonObject => {
        const [a, b] = [object(old as JsonObject), object(more as JsonObject)]
        return { ...a, ...b, [field]: `${a[field] ?? ''}${b[field] ?? ''}` }
      }
      calls[at] = {
        ...before,
        ...(id === undefined ? {} : { id, type }),
        ...(custom === undefined ? {} : { custom: grow(before.custom, custom, 'input') }),
        ...(called === undefined ? {} : { function: grow(before.function, called, 'arguments') }),
      } as JsonObject
    }
  return calls
}

for (const dialect of DIALECTS)
  for (const stream of [false, true])
    await every(t, `${dialect}${stream ? ', streamed' : ''}: offered as functions, and called as the caller's own`, async (t) => {
      // Messages and Gemini have arguments as objects.
      const plain = dialect.startsWith('openai') ? ['n ', 'without JSON'] : ['{"input":"n without JSON"}']
      utterance = {
        calls: [
          { id: 'call_1', name: 'apply_patch', args: cut(JSON.stringify({ input: PATCH }), 3) },
          { id: 'call_2', name: 'note', args: plain },
          { id: 'call_3', name: 'look', args: ['{}'] },
        ],
      }
      const { status, text } = await ask(dialect, { stream })
      t.equal(status, 200, text)
      const events = stream ? (parseStream(text) as JsonObject[]) : []
      const calls = stream ? joined(events) : list(object(object(list((JSON.parse(text) as JsonObject).choices)[0]).message).tool_calls)
      const ids = calls.map(({ id }) => id)
      t.same(calls, [
        { id: ids[0], type: 'custom', custom: { name: 'apply_patch', input: PATCH } },
        { id: ids[1], type: 'custom', custom: { name: 'note', input: 'n without JSON' } },
        { id: ids[2], type: 'function', function: { name: 'look', arguments: '{}' } },
      ])
      const sent = lastSeen().body
      t.match(sent, /Edits files\..*The input must match this lark grammar/s)
      t.notMatch(sent, /"type":"custom"/)
      t.match(text, /"dropped":\[[^\]]*"tools\.custom\.format"/)
    })

t.test('calls and results go back in the same words, and a choice means the function', async (t) => {
  utterance = { text: ['fine'] }
  const messages = [
    user,
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input: PATCH } }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'patched' },
  ]
  for (const dialect of DIALECTS) {
    const { status, text } = await ask(dialect, { messages, tool_choice: { type: 'custom', custom: { name: 'note' } } })
    t.equal(status, 200, text)
    const { body } = lastSeen()
    for (const word of ['apply_patch', 'Begin Patch', 'patched', 'note']) t.match(body, word, `${dialect}: ${word}`)
    t.notMatch(body, /"type":"custom"/)
  }
  const choice = {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'note' } }] },
  }
  await ask('anthropic', { tool_choice: choice })
  t.match(lastSeen().json, { tools: [{ name: 'note' }], tool_choice: { type: 'any' } })
  t.equal(list(lastSeen().json.tools).length, 1)
})

t.test('a provider that knows them gets them as they are', async (t) => {
  utterance = { text: ['fine'] }
  const messages = [
    user,
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'note', input: 'n' } }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'noted' },
  ]
  t.equal((await ask('full', { messages })).status, 200)
  t.same(lastSeen().json.tools, TOOLS)
  t.match(list(lastSeen().json.messages)[1], messages[1])
})

t.test('returns 400 that names the wrong field', async (t) => {
  const before = upstream.requests.length
  const WRONG: readonly [body: JsonObject, field: string][] = [
    [{ tools: [{ type: 'custom' }] }, 'tools[0].custom'],
    [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name'],
    [
      { messages: [user, { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'note' } }] }] },
      'messages[1].tool_calls[0].custom.input',
    ],
    [{ tools: [...TOOLS, { type: 'custom', custom: { name: 'look' } }] }, 'tools[3]'],
  ]
  for (const [body, field] of WRONG) {
    const { status, text } = await ask('openai-chat', body)
    t.equal(status, 400, field)
    t.ok(text.includes(field), text)
  }
  t.equal(upstream.requests.length, before)
})
