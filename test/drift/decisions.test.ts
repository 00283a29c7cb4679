/** Each name that SDKs have is decided, by a decision that holds: what is said to be understood, passed on, dropped or refused is. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FAULTS } from '../../src/core/faults.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { decodeFault } from '../../src/dialects/responses/fault.ts'
import { every } from '../support/every.ts'
import { generationDropped } from '../support/matrix/observe.ts'
import type { Client } from '../support/providers.ts'
import { startScene } from '../support/scene.ts'
import { sseAnswer } from '../support/upstream.ts'
import { DECIDED, DECISIONS, type Decided } from './decisions.ts'
import { keptNames } from './read-sdks.ts'
import { KINDS, type Kind, type Wire } from './sdks.ts'

const names = keptNames()
const WIRES = Object.keys(names) as Wire[]

const decided = (wire: Wire, kind: Kind): Decided => DECIDED[wire][kind] ?? {}
const all = (wire: Wire, kind: Kind): string[] => DECISIONS.flatMap((decision) => decided(wire, kind)[decision] ?? [])

/** True where a decision has the name itself, or all that lies below a member of it. */
function covers(words: readonly string[], name: string): boolean {
  const parts = name.split('.')
  return parts.some((_, index) => {
    const above = parts.slice(0, parts.length - index).join('.')
    const isLeaf = index === 0 || !words.some((word) => word.startsWith(`${above}.`) && !word.endsWith('.*'))
    return isLeaf && (words.includes(above) || (index > 0 && words.includes(`${above}.*`)))
  })
}

t.test('every name has one decision', async (t) => {
  for (const wire of WIRES) {
    for (const kind of KINDS) {
      // `models.test.ts` looks at these.
      if (kind === 'model') continue
      const known = names[wire]?.[kind] ?? []
      const words = all(wire, kind)
      t.same(
        known.filter((name) => (kind === 'event' ? !words.includes(name) : !covers(words, name))),
        [],
        `${wire}: each ${kind}`,
      )
      t.same(
        words.filter((word, index) => words.indexOf(word) !== index),
        [],
        `${wire}: none of ${kind} twice`,
      )
      // Schemas and the table of usage also have what no SDK of these names.
      if (kind !== 'request' && kind !== 'usage')
        t.same(
          words.filter((word) => !known.includes(word)),
          [],
          `${wire}: no ${kind} that is none`,
        )
    }
  }
})

const SOURCES = join(import.meta.dirname, '../../src')
const FOLDER: Readonly<Record<Wire, string>> = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  anthropic: 'messages',
  gemini: 'gemini',
  'bedrock-converse': 'bedrock',
}

function wordsOfCode(wire: Wire): Set<string> {
  const folders = [`dialects/${FOLDER[wire]}`, 'dialects/canon', 'dialects/faults', 'pipeline', 'core']
  const files = folders.flatMap((folder) => globSync(join(SOURCES, folder, '**/*.ts')))
  // Tables of what is known are no reader of it.
  const text = files.filter((file) => !file.endsWith('known-words.ts')).map((file) => readFileSync(file, 'utf8'))
  // Comments name much that no code reads.
  const code = text
    .join('\n')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*/g, '')
  return new Set(code.match(/[A-Za-z_][\w.-]*/g)?.flatMap((word) => [word, ...word.split('.')]))
}

/** Some are put together of their parts, or read by a pattern: tools without their date, exceptions by the beginning of their name. */
function stands(code: ReadonlySet<string>, word: string): boolean {
  const [bare = word] = word.split(/_\d{8}$/)
  const exception = /^(.*)Exception$/.exec(word)?.[1]?.toLowerCase()
  return exception === undefined
    ? [word, bare].some((one) => code.has(one)) || word.split('.').every((part) => code.has(part))
    : [...code].some((one) => one.toLowerCase().startsWith(exception))
}

t.test('every word that a decision calls understood occurs in the code of its dialect', async (t) => {
  for (const wire of WIRES) {
    const code = wordsOfCode(wire)
    const kinds = KINDS.filter((kind) => kind !== 'error' && kind !== 'usage')
    for (const kind of kinds)
      t.same(
        (decided(wire, kind).understood ?? []).filter((word) => !stands(code, word)),
        [],
        `${wire}: ${kind}`,
      )
  }
})

t.test('error codes of Responses have a meaning in the table of faults, but for those that are said to have none', (t) => {
  const { understood = [], passed = [] } = decided('openai-responses', 'error')
  const blame = (code: string): string => FAULTS[decodeFault(200, { error: { code, message: 'x' } }).code].blame
  const caller = understood.filter((code) => /image|prompt|policy/.test(code))
  t.ok(caller.length > 10)
  t.same(
    caller.filter((code) => blame(code) !== 'caller'),
    [],
    'what is wrong with the request is no failure of the provider',
  )
  t.same(
    [...passed, 'server_error'].filter((code) => blame(code) === 'caller'),
    [],
  )
  t.end()
})

/** The client format of a wire, and a wire that says things otherwise. */
const CLIENTS: readonly { wire: Wire; client: Client; other: Wire }[] = [
  { wire: 'openai-chat', client: 'chat', other: 'anthropic' },
  { wire: 'openai-responses', client: 'responses', other: 'anthropic' },
  { wire: 'anthropic', client: 'messages', other: 'openai-chat' },
]

/** Forms that a field may have; the first that its check takes is sent. */
const VALUES: readonly Json[] = ['word', true, { member: 'word' }, ['word']]

t.test('fields of requests are passed on and recorded, or refused, as is said', async (t) => {
  for (const { wire, client, other } of CLIENTS) {
    const { passed = [], refused = [] } = decided(wire, 'request')
    for (const dialect of [wire, other]) {
      const scene = await startScene(t, { dialect })
      for (const name of passed) {
        for (const value of VALUES) {
          const response = await scene.ask({ [name]: value }, client)
          if (response.status === 400 && value !== VALUES.at(-1)) continue
          const id = response.headers.get('x-generation-id')
          const record = (await (await scene.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
          const sent = scene.upstream.requests.at(-1)?.json as JsonObject
          if (dialect === wire) t.same(sent[name], value, `${wire} ${name} goes on`)
          else
            t.ok(
              generationDropped(record.data).includes(name) && sent[name] === undefined,
              `${wire} ${name} is recorded as dropped at ${dialect}`,
            )
          break
        }
      }
      for (const name of refused) {
        const response = await scene.ask({ [name]: 3 }, client)
        t.equal(response.status, 400, `${wire} ${name} is refused`)
        t.match(await response.text(), name)
      }
    }
  }
})

const created = {
  type: 'response.created',
  sequence_number: 0,
  response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] },
}
const text = (content: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: content, annotations: [] }],
})

/** A stream of Responses that has something else between its beginning and its text. */
function responsesWith(between: readonly JsonObject[], items: readonly JsonObject[] = []): string {
  const at = items.length
  const events: JsonObject[] = [
    created,
    ...between,
    {
      type: 'response.output_item.added',
      output_index: at,
      item: { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      output_index: at,
      item_id: 'msg_1',
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    { type: 'response.output_text.delta', output_index: at, item_id: 'msg_1', content_index: 0, delta: 'fine' },
    { type: 'response.output_item.done', output_index: at, item: text('fine') },
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        output: [...items, text('fine')],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      },
    },
  ]
  return events.map((event, index) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`).join('')
}

/** Names that a caller of the same wire reads, and those that one of another does. */
async function bothCallers(t: Test, wire: Wire, client: Client, body: string): Promise<{ own: string; other: string }> {
  const scene = await startScene(t, { dialect: wire, answer: () => sseAnswer([body]) })
  const own = await (await scene.ask({ stream: true }, client)).text()
  const other = await (await scene.ask({ stream: true }, 'chat')).text()
  return { own, other }
}

t.test('events of Responses that are passed on reach its callers as they are, and disturb no others', async (t) => {
  for (const type of decided('openai-responses', 'event').passed ?? [])
    await every(t, type, async (t) => {
      const strange = { type, item_id: 'it_1', output_index: 0, delta: 'marker-7', code: 'marker-7' }
      const { own, other } = await bothCallers(t, 'openai-responses', 'responses', responsesWith([strange]))
      t.match(own, `"type":"${type}"`)
      t.match(own, 'marker-7')
      t.match(own, 'response.completed')
      t.match(other, /"content":"fine"/)
      t.match(other, /"finish_reason":"stop"/)
    })
})

t.test('items of Responses that are passed on reach its callers as they are, and disturb no others', async (t) => {
  for (const type of decided('openai-responses', 'output').passed ?? [])
    await every(t, type, async (t) => {
      const item = { type, id: 'it_1', status: 'completed', marker: 'marker-8' }
      const events = ['added', 'done'].map((end) => ({ type: `response.output_item.${end}`, output_index: 0, item }))
      const { own, other } = await bothCallers(t, 'openai-responses', 'responses', responsesWith(events, [item]))
      t.match(own, `"type":"${type}"`)
      t.match(own, 'marker-8')
      t.match(other, /"content":"fine"/)
      t.match(other, /"finish_reason":"stop"/)
    })
})

t.test('blocks of Messages that are passed on reach its callers as they are, and disturb no others', async (t) => {
  const blocks = (decided('anthropic', 'output').passed ?? []).filter((type) => !type.endsWith('_location'))
  for (const type of blocks)
    await every(t, type, async (t) => {
      const events: JsonObject[] = [
        {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            usage: { input_tokens: 3, output_tokens: 1 },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type, tool_use_id: 'srvtoolu_1', content: [{ marker: 'marker-9' }] } },
        { type: 'content_block_stop', index: 0 },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'fine' } },
        { type: 'content_block_stop', index: 1 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ]
      const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
      const { own, other } = await bothCallers(t, 'anthropic', 'messages', body)
      t.match(own, `"type":"${type}"`)
      t.match(own, 'marker-9')
      t.match(other, /"content":"fine"/)
      t.match(other, /"finish_reason":"stop"/)
    })
})
