/**
 * Tools of the Responses format that the caller runs itself (namespaces, free text, its own search for tools, its shell) at
 * providers that know functions alone: offered, called, answered and offered again in the same words.
 */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor, type Utterance, type UtteranceCall } from '../../support/wire.ts'

const PATCH = '*** Begin Patch\n*** Add File: "a\\b".txt\n+größer 😀\u0007\n*** End Patch\n'
const GRAMMAR = 'start: "*** Begin Patch" LF'
const SPAWN = 'multi_agent_v1__spawn_agent'
const TOOLS: JsonObject[] = [
  { type: 'function', name: 'exec_command', parameters: { type: 'object' } },
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR },
  },
  {
    type: 'namespace',
    name: 'multi_agent_v1',
    description: 'Sub-agents.',
    tools: [
      { type: 'function', name: 'spawn_agent', description: 'Starts one.', parameters: { type: 'object' } },
      { type: 'custom', name: 'note' },
    ],
  },
  { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
  { type: 'local_shell' },
]

/** Names, descriptions and the one choice of a request in any format. */
function offered({ json }: Seen): { names: string[]; texts: Json; choice: Json | undefined } {
  const grouped = list(json.tools).flatMap((tool) =>
    tool.functionDeclarations ? list(tool.functionDeclarations) : [object(tool.function ?? tool)],
  )
  const names = grouped.map(({ name }) => String(name))
  return { names, texts: JSON.stringify(json.tools), choice: json.tool_choice ?? json.toolConfig }
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
let utterance: Utterance = {}
const PATHS: Readonly<Record<string, string>> = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }
const DIALECTS = Object.keys(PATHS)
const { gateway, upstream } = await startScene(t, {
  answer: (seen) => {
    const { names } = offered(seen)
    if (seen.body.includes('"namespace"')) return answerFor(seen, utterance)
    if (new Set(names).size < names.length || names.some((name) => !NAME.test(name)))
      return jsonAnswer({ error: { message: 'names' } }, 400)
    return answerFor(seen, utterance)
  },
  config: (url) => `
providers:
${DIALECTS.map((dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}${PATHS[dialect]}", key: k${dialect === 'openai-responses' ? ', quirks: { functions_only: true }' : ''} }`).join('\n')}
  full: { dialect: openai-responses, base_url: "${url}/v1", key: k }
models:
${[...DIALECTS, 'full'].map((name) => `  m/${name}: { endpoints: [ { provider: ${name}, model: up, price: free } ] }`).join('\n')}
  m/both: { endpoints: [ { provider: openai-chat, model: up, price: free }, { provider: full, model: up, price: free } ] }
`,
})

const user = { type: 'message', role: 'user', content: 'Hello' }

interface Reply {
  output: JsonObject[]
  events: JsonObject[]
}

async function ask(dialect: string, body: JsonObject, stream = false): Promise<Reply> {
  const response = await gateway.post('/v1/responses', { model: `m/${dialect}`, tools: TOOLS, input: [user], stream, ...body })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  const events = stream ? parseStream(text) : []
  const whole = stream ? object(events.at(-1)?.response) : (JSON.parse(text) as JsonObject)
  return { output: list(whole.output), events }
}

const lastSeen = (): Seen => {
  const seen = upstream.requests.at(-1)
  if (!seen) throw new Error('no request')
  return seen
}

/** Pieces of a text, as models cut them: within escapes, too. */
const cut = (text: string, length: number): string[] => text.match(new RegExp(`.{1,${length}}`, 'gs')) ?? []

const CALLS: UtteranceCall[] = [
  { id: 'call_1', name: SPAWN, args: ['{"message":', '"go"}'] },
  { id: 'call_2', name: 'apply_patch', args: cut(JSON.stringify({ input: PATCH }), 3) },
  { id: 'call_3', name: 'multi_agent_v1__note', args: ['{"input":"n"}'] },
  { id: 'call_4', name: 'tool_search', args: ['{"query":"mail"}'] },
  { id: 'call_5', name: 'local_shell', args: ['{"command":["ls"],"timeout_ms":5}'] },
  { id: 'call_6', name: 'exec_command', args: ['{}'] },
]

/** Without the ids of the items, which are the gateway's. */
const plain = (output: readonly JsonObject[]): JsonObject[] => output.map(({ id: _, ...item }) => item)
const status = 'completed'

for (const dialect of DIALECTS)
  for (const stream of [false, true])
    await every(t, `${dialect}${stream ? ', streamed' : ''}: calls are the caller's own again`, async (t) => {
      utterance = { calls: CALLS }
      const { output, events } = await ask(dialect, {}, stream)
      const ids = output.map(({ call_id: id }) => id)
      t.same(plain(output), [
        { type: 'function_call', status, call_id: ids[0], name: 'spawn_agent', namespace: 'multi_agent_v1', arguments: '{"message":"go"}' },
        { type: 'custom_tool_call', status, call_id: ids[1], name: 'apply_patch', input: PATCH },
        { type: 'custom_tool_call', status, call_id: ids[2], name: 'note', namespace: 'multi_agent_v1', input: 'n' },
        { type: 'tool_search_call', status, call_id: ids[3], execution: 'client', arguments: { query: 'mail' } },
        { type: 'local_shell_call', status, call_id: ids[4], action: { type: 'exec', command: ['ls'], timeout_ms: 5, env: {} } },
        { type: 'function_call', status, call_id: ids[5], name: 'exec_command', arguments: '{}' },
      ])
      const { names, texts } = offered(lastSeen())
      t.same(names, ['exec_command', 'apply_patch', SPAWN, 'multi_agent_v1__note', 'tool_search', 'local_shell'])
      t.match(texts, /Edits files\..*start: .*Begin Patch.*Starts one\..*Namespace multi_agent_v1: Sub-agents/s, 'what the tools are for')
      if (!stream) return
      const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
      const item = String(output[1].id)
      t.equal(deltas.flatMap((event) => (event.item_id === item ? [event.delta] : [])).join(''), PATCH, 'unescaped as it comes')
      if (dialect !== 'gemini') t.ok(deltas.length > 10, 'piece by piece')
      t.match(
        events.filter(({ type }) => type === 'response.custom_tool_call_input.done'),
        [{ input: PATCH, item_id: item }, { input: 'n' }],
      )
      t.match(
        events.filter(({ type }) => type === 'response.output_item.added').map((event) => event.item),
        [
          { type: 'function_call', name: 'spawn_agent', namespace: 'multi_agent_v1', arguments: '' },
          { type: 'custom_tool_call', status: 'in_progress', name: 'apply_patch', input: '', id: /^ctc_/ },
          { type: 'custom_tool_call', namespace: 'multi_agent_v1' },
          { type: 'tool_search_call', arguments: {}, id: /^tsc_/ },
          { type: 'local_shell_call', id: /^lsh_/ },
          { type: 'function_call' },
        ],
      )
    })

/** A conversation with one call of each kind, and what they returned. */
const HISTORY: JsonObject[] = [
  user,
  { type: 'function_call', call_id: 'c1', name: 'spawn_agent', namespace: 'multi_agent_v1', arguments: '{"message":"go"}' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: PATCH },
  { type: 'tool_search_call', call_id: 'c3', execution: 'client', arguments: { query: 'mail' } },
  { type: 'local_shell_call', id: 'lsh_4', call_id: 'c4', status, action: { type: 'exec', command: ['ls'], env: {} } },
  { type: 'function_call_output', call_id: 'c1', output: 'agent-7' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: 'patched' },
  {
    type: 'tool_search_output',
    call_id: 'c3',
    execution: 'client',
    status,
    tools: [
      {
        type: 'namespace',
        name: 'mail',
        description: '',
        tools: [{ type: 'function', name: 'send', description: 'Sends mail.', defer_loading: true, parameters: { type: 'object' } }],
      },
    ],
  },
  { type: 'local_shell_call_output', id: 'lsh_4', output: 'file.txt' },
  { type: 'agent_message', author: '/root', recipient: '/root/a', content: [{ type: 'input_text', text: 'a word to the agent' }] },
]

for (const dialect of DIALECTS)
  await every(t, `${dialect}: the history has the same words, and what was found is offered`, async (t) => {
    utterance = { text: ['fine'] }
    await ask(dialect, { input: HISTORY })
    const { names } = offered(lastSeen())
    t.same(names, ['exec_command', 'apply_patch', SPAWN, 'multi_agent_v1__note', 'tool_search', 'local_shell', 'mail__send'])
    const text = JSON.stringify(lastSeen().json.messages ?? lastSeen().json.input ?? lastSeen().json.contents)
    for (const word of [SPAWN, 'apply_patch', 'Begin Patch', 'tool_search', 'local_shell', 'agent-7', 'patched', 'mail__send', 'file.txt'])
      t.match(text, word, word)
    t.match(text, 'a word to the agent')
    t.notMatch(text, /custom_tool|namespace|lsh_4/)
    const first = lastSeen().body
    await ask(dialect, { input: HISTORY })
    t.equal(lastSeen().body, first, 'the next turn begins with the same bytes')
  })

await every(t, 'what is lost is recorded, and the namespace is not', async (t) => {
  utterance = { text: ['fine'] }
  const response = await gateway.post(
    '/v1/responses',
    { model: 'm/openai-chat', tools: TOOLS, input: HISTORY },
    { 'x-router-metadata': 'enabled' },
  )
  const attempts = JSON.stringify(object((await response.json()) as JsonObject).router_metadata)
  t.match(attempts, '"dropped":["tools.custom.format","agent_message.author","agent_message.recipient"]')
})

await every(t, 'choices of tools', async (t) => {
  utterance = { text: ['fine'] }
  const chosen = async (choice: Json): Promise<JsonObject> => {
    await ask('openai-chat', { tool_choice: choice })
    return lastSeen().json
  }
  const named = (name: string): JsonObject => ({ type: 'function', function: { name } })
  t.same((await chosen({ type: 'function', name: 'spawn_agent', namespace: 'multi_agent_v1' })).tool_choice, named(SPAWN))
  t.same((await chosen({ type: 'function', name: 'spawn_agent' })).tool_choice, named(SPAWN), 'the only tool of this name')
  t.same((await chosen({ type: 'function', name: 'exec_command' })).tool_choice, named('exec_command'))
  t.same((await chosen({ type: 'custom', name: 'apply_patch' })).tool_choice, named('apply_patch'))
  t.same((await chosen({ type: 'tool_search' })).tool_choice, named('tool_search'))
  const tools = [{ type: 'custom', name: 'apply_patch' }, { type: 'namespace', name: 'multi_agent_v1' }, { type: 'local_shell' }]
  const allowed = await chosen({ type: 'allowed_tools', mode: 'required', tools })
  t.same(offered(lastSeen()).names, ['apply_patch', SPAWN, 'multi_agent_v1__note', 'local_shell'])
  t.equal(allowed.tool_choice, 'required')
})

await every(t, 'two tools of one name are refused, unless the provider has namespaces', async (t) => {
  const tools = [...TOOLS, { type: 'function', name: SPAWN, parameters: { type: 'object' } }]
  const count = upstream.requests.length
  for (const dialect of DIALECTS) {
    const response = await gateway.post('/v1/responses', { model: `m/${dialect}`, tools, input: 'Hello' })
    t.equal(response.status, 400, dialect)
    t.match(await response.json(), { error: { message: /^tools\[5\]: two tools have the name multi_agent_v1__spawn_agent/ } })
  }
  t.equal(upstream.requests.length, count, 'no provider is called')
  for (let i = 0; i < 4; i++) {
    utterance = { text: ['fine'] }
    await ask('both', { tools })
    t.same(lastSeen().json.tools, tools, 'the provider that has namespaces serves')
  }
})

await every(t, 'a provider that has these tools gets them as they came', async (t) => {
  utterance = { text: ['fine'] }
  const tool_choice = { type: 'custom', name: 'apply_patch' }
  await ask('full', { input: HISTORY, tool_choice })
  t.same(lastSeen().json.tools, TOOLS)
  t.same(lastSeen().json.input, HISTORY)
  t.same(lastSeen().json.tool_choice, tool_choice)
})

await every(t, 'deferred tools wait until the caller has found them', async (t) => {
  utterance = { text: ['fine'] }
  const hidden: JsonObject = { type: 'function', name: 'send', parameters: { type: 'object' }, defer_loading: true }
  const tools = [...TOOLS, { type: 'namespace', name: 'mail', description: '', tools: [hidden, { ...hidden, name: 'read' }] }]
  await ask('anthropic', { tools })
  t.notMatch(offered(lastSeen()).texts, 'mail__')
  await ask('anthropic', { tools, input: HISTORY })
  t.match(offered(lastSeen()).texts, 'mail__send')
  t.notMatch(offered(lastSeen()).texts, 'mail__read')
})

await every(t, 'words that Codex has its provider encrypt are said to be plain', async (t) => {
  utterance = { calls: [{ id: 'c', name: 'collaboration__send_message', args: ['{"message":"hi"}'] }] }
  const parameters = { type: 'object', properties: { message: { type: 'string', encrypted: true } }, required: ['message'] }
  const tools = [
    { type: 'namespace', name: 'collaboration', description: '', tools: [{ type: 'function', name: 'send_message', parameters }] },
  ]
  const { output } = await ask('gemini', { tools })
  t.match(output, [{ type: 'function_call', name: 'send_message', namespace: 'collaboration', encrypted_function_args: [] }])
  t.notMatch(lastSeen().body, 'encrypted')
})

t.test('turns an output without its call into text', async (t) => {
  utterance = { text: ['fine'] }
  const input = [user, { type: 'function_call_output', name: 'watch', namespace: 'ci', output: 'build 7 failed' }]
  for (const dialect of DIALECTS) {
    await ask(dialect, { input })
    t.match(lastSeen().body, /Output of the tool ci__watch:/, dialect)
    t.match(lastSeen().body, /build 7 failed/, dialect)
  }
  await ask('full', { input })
  t.match(list(lastSeen().json.input)[1], input[1], 'as it is where the provider knows it')
})

t.test("the provider's own search for tools, beside namespaces", async (t) => {
  utterance = { text: ['fine'] }
  const tools = [
    { type: 'tool_search' },
    {
      type: 'namespace',
      name: 'crm',
      description: 'Customers.',
      tools: [{ type: 'function', name: 'find', parameters: { type: 'object' }, defer_loading: true }],
    },
  ]
  for (const dialect of DIALECTS) {
    await ask(dialect, { tools })
    const { names } = offered(lastSeen())
    t.ok(names.includes('crm__find'), `${dialect}: ${names}`)
  }
})
