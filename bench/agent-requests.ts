/**
 * A turn of a coding agent in every wire: a long system prompt, 20 tools, and 40 messages of calls and their results, about 330 KB.
 * Texts are like files and listings of a repository: lines, quotes, indents, and a few letters beyond ASCII, as agents' prompts have them.
 */
import type { BenchRequest } from './requests.ts'

const TOOLS = 20
/** Calls, each with its result: 40 messages. */
const CALLS = 20
/** Characters of one result. */
const RESULT = 12_500

const LINES = [
  'export function settle(rows: readonly Row[], at: number): Map<string, number> {',
  '  const sums = new Map<string, number>()',
  '  for (const { key, cost } of rows) sums.set(key, (sums.get(key) ?? 0) + cost)',
  '  if (sums.size === 0) throw new Error("expected rows, found none")',
  '  // The image of the last build is kept, so that a failed one can be rolled back.',
  "  const file = join(root, 'src', 'ledger', 'rows.ts')",
  '  return sums',
  '}',
  '',
  '\tassert.deepEqual(settle([{ key: "a", cost: 3 }], 0), new Map([["a", 3]]))',
  '  ✓ sums the rows of a key (3 ms)',
]

function listing(seed: number, length: number): string {
  let text = ''
  for (let line = seed; text.length < length; line++) text += `${String(line).padStart(5)}→${LINES[(line * 7 + seed) % LINES.length]}\n`
  return text.slice(0, length)
}

const system =
  'You are a coding agent — you work in the repository of the user with the tools that you have.\n' +
  'Read a file before you change it. Run the tests after each change, and say which of them fail.\n'.repeat(80)

const NAMES = ['read', 'write', 'edit', 'search', 'list', 'run', 'fetch', 'plan', 'ask', 'review']

interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

const tools: readonly Tool[] = Array.from({ length: TOOLS }, (_, at) => ({
  name: `${NAMES[at % NAMES.length]}_${at}`,
  description: `Tool ${at}. It takes the path of a file and returns what was found there, with the numbers of the lines.\n`.repeat(10),
  parameters: {
    type: 'object',
    properties: {
      file_path: { type: 'string', description: 'The absolute path of the file, never a relative one' },
      offset: { type: 'number', description: 'The number of the line to start from; only for "large" files' },
      limit: { type: 'integer', minimum: 1, maximum: 2000, description: 'How many lines are returned' },
      mode: { type: 'string', enum: ['text', 'lines', 'count'], default: 'text' },
      edits: {
        type: 'array',
        items: {
          type: 'object',
          properties: { from: { type: 'string' }, to: { type: 'string' }, all: { type: 'boolean', default: false } },
          required: ['from', 'to'],
          additionalProperties: false,
        },
      },
    },
    required: ['file_path'],
    additionalProperties: false,
  },
}))

interface Call {
  readonly id: string
  readonly name: string
  readonly utterance: string
  readonly input: { readonly file_path: string; readonly edits: readonly object[] }
  readonly result: string
}

const calls: readonly Call[] = Array.from({ length: CALLS }, (_, at) => ({
  id: `call_${String(at).padStart(24, 'abcdef0123456789')}`,
  name: `${NAMES[at % NAMES.length]}_${at}`,
  utterance: `I will look at file ${at} next, since the test of it fails.`,
  input: { file_path: `/srv/app/src/part-${at}.ts`, edits: [{ from: listing(at, 300), to: listing(at + 1, 300), all: false }] },
  result: listing(at * 31, RESULT),
}))

const task = 'The test "sums the rows of a key" fails since yesterday. Find out why, and put it right.'
const MOST = 8192

const chatBody = (model: string): object => ({
  model,
  messages: [
    { role: 'system', content: system },
    { role: 'user', content: task },
    ...calls.flatMap(({ id, name, utterance, input, result }) => [
      {
        role: 'assistant',
        content: utterance,
        tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
      },
      { role: 'tool', tool_call_id: id, content: result },
    ]),
  ],
  tools: tools.map((tool) => ({ type: 'function', function: tool })),
  max_tokens: MOST,
  stream: true,
  stream_options: { include_usage: true },
})

const messagesBody = (model: string): object => ({
  model,
  max_tokens: MOST,
  system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: task },
    ...calls.flatMap(({ id, name, utterance, input, result }) => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: utterance },
          { type: 'tool_use', id, name, input },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: result }] }] },
    ]),
  ],
  tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
  stream: true,
})

const responsesBody = (model: string): object => ({
  model,
  instructions: system,
  input: [
    { role: 'user', content: [{ type: 'input_text', text: task }] },
    ...calls.flatMap(({ id, name, input, result }) => [
      { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) },
      { type: 'function_call_output', call_id: id, output: result },
    ]),
  ],
  tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })),
  max_output_tokens: MOST,
  store: false,
  stream: true,
})

const geminiBody = (): object => ({
  systemInstruction: { parts: [{ text: system }] },
  contents: [
    { role: 'user', parts: [{ text: task }] },
    ...calls.flatMap(({ name, utterance, input, result }) => [
      { role: 'model', parts: [{ text: utterance }, { functionCall: { name, args: input } }] },
      { role: 'user', parts: [{ functionResponse: { name, response: { result } } }] },
    ]),
  ],
  tools: [
    { functionDeclarations: tools.map(({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters })) },
  ],
  generationConfig: { maxOutputTokens: MOST },
})

/** Events of the turn in the stream of a Responses provider. */
export const AGENT_ECHO = { instructions: system, tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })) }

/** Each client's turn, for a model of the bench configuration. */
export const AGENT_OF: Readonly<Record<'chat' | 'responses' | 'messages', (model: string) => BenchRequest>> = {
  chat: (model) => ({ path: '/v1/chat/completions', body: JSON.stringify(chatBody(model)), reply: 'chat-stream' }),
  responses: (model) => ({ path: '/v1/responses', body: JSON.stringify(responsesBody(model)), reply: 'responses-stream' }),
  messages: (model) => ({ path: '/v1/messages', body: JSON.stringify(messagesBody(model)), reply: 'messages-stream' }),
}

/** The same turn as a provider of each wire takes it. */
export const AGENT_NATIVE: Readonly<Record<'chat' | 'responses' | 'anthropic' | 'gemini', () => BenchRequest>> = {
  chat: () => AGENT_OF.chat('bench/chat'),
  responses: () => AGENT_OF.responses('bench/responses'),
  anthropic: () => AGENT_OF.messages('mock-1'),
  gemini: () => ({
    path: '/v1beta/models/gemini:streamGenerateContent?alt=sse',
    body: JSON.stringify(geminiBody()),
    reply: 'gemini-stream',
  }),
}

/** A turn of an agent with a longer task, so that it has so many bytes. */
export function padded(body: string, bytes: number): string {
  const filler = 'x'.repeat(Math.max(0, bytes - Buffer.byteLength(body)))
  return body.replace('fails since yesterday.', `fails since yesterday. ${filler}`)
}
