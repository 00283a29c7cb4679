/** Ids of files and containers at providers: each works only for the key that got it and at the provider that issued it, in every lane. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { KEY } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { jsonAnswer, type Script, sseAnswer } from '../../support/upstream.ts'

const OTHER = 'sk-router-v1-0000000000000000bbbbbbbbbbbbbbbb'
const LISTED = 'sk-router-v1-2222222222222222cccccccccccccccc'
const CONTAINER = 'container_011CPR5CNjB747bTd36fQLFk'
const FILE = 'file_011CPMxVD3fHLUhvTqtsQA5w'
const CNTR = 'cntr_68a1b2c3d4'

const message: JsonObject = {
  id: 'msg_01Provider',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: { command: 'ls' } },
    {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'bash_code_execution_result',
        stdout: 'ok',
        stderr: '',
        return_code: 0,
        content: [{ type: 'bash_code_execution_output', file_id: FILE }],
      },
    },
    { type: 'tool_use', id: 'toolu_1', name: 'mine', input: { file_id: 'report.txt' } },
  ],
  stop_reason: 'end_turn',
  stop_sequence: null,
  container: { id: CONTAINER, expires_at: '2026-12-01T00:00:00Z' },
  usage: { input_tokens: 10, output_tokens: 5 },
}
const { content: blocks, stop_reason, container, ...head } = message
const messageFrames = [
  { type: 'message_start', message: { ...head, content: [], stop_reason: null, container: null } },
  ...(blocks as JsonObject[]).flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ]),
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null, container }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

const response: JsonObject = {
  id: 'resp_Provider',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'up',
  output: [
    { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: CNTR, outputs: [] },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [
        {
          type: 'output_text',
          text: 'See "file_id":"x"',
          annotations: [
            { type: 'container_file_citation', container_id: CNTR, file_id: 'cfile_1234567', start_index: 0, end_index: 1, filename: 'a' },
          ],
        },
      ],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
}
const responseFrames = [
  { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
  ...(response.output as JsonObject[]).flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item: { ...item, ...(item.type === 'message' ? { content: [] } : {}) } },
    { type: 'response.output_item.done', output_index, item },
  ]),
  { type: 'response.completed', response },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

const answer: Script = (seen) => {
  if (seen.method === 'GET') return jsonAnswer({})
  const isMessages = seen.path.includes('messages')
  if (seen.json.stream === true) return sseAnswer(isMessages ? messageFrames : responseFrames)
  return jsonAnswer(isMessages ? message : response)
}

const config = (url: string): string => `
auth:
  keys:
    - { name: app, key: "${KEY}" }
    - { name: other, key: "${OTHER}" }
    - { name: listed, key: "${LISTED}", provider_ids: [ "file_*", ${CONTAINER} ] }
providers:
  anthropic: { dialect: anthropic, base_url: "${url}", key: a, quirks: { threads: true } }
  spare: { dialect: anthropic, base_url: "${url}/spare", key: b, quirks: { threads: true } }
  plain: { dialect: anthropic, base_url: "${url}/plain", key: d }
  openai: { dialect: openai-responses, base_url: "${url}/v1", key: c, quirks: { explicit_caching: true } }
models:
  acme/claude:
    input: [ text, image, file ]
    endpoints: [ { provider: anthropic, model: up, price: free }, { provider: spare, model: up, price: free } ]
  acme/spare: { endpoints: [ { provider: spare, model: up, price: free } ] }
  acme/plain: { endpoints: [ { provider: plain, model: up, price: free }, { provider: openai, model: up, price: free } ] }
  acme/mixed: { endpoints: [ { provider: plain, model: up, price: free }, { provider: spare, model: up, price: free } ] }
  acme/gpt: { endpoints: [ { provider: openai, model: up, price: free } ] }
`

const place = (t: Test, lane?: 'translate' | 'observe'): Promise<Scene> => startScene(t, { answer, config, lane })

const TEXT = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const CODE = { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }

interface Asked {
  status: number
  text: string
  id: string
  sent: JsonObject | undefined
  path: string
}

async function ask({ gateway, upstream }: Scene, client: Client, body: JsonObject, key = KEY): Promise<Asked> {
  const before = upstream.requests.length
  const reply = await gateway.post(PATHS[client], body, { authorization: `Bearer ${key}` })
  const text = await reply.text()
  const seen = upstream.requests.length > before ? upstream.requests.at(-1) : undefined
  return { status: reply.status, text, id: reply.headers.get('x-generation-id') ?? '', sent: seen?.json, path: seen?.path ?? '' }
}

const idIn = (text: string, begin: string): string => new RegExp(`"(${begin}[^"]*)"`).exec(text)?.[1] ?? ''

for (const lane of [undefined, 'observe', 'translate'] as const)
  for (const stream of [false, true])
    t.test(`${lane ?? 'pass'} lane, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const scene = await place(t, lane)
      const first = await ask(scene, 'messages', { ...TEXT, ...CODE, stream, model: 'acme/claude' })
      t.equal(first.status, 200, first.text)
      const id = idIn(first.text, 'container_')
      const file = idIn(first.text, 'file_0')
      t.not(id, CONTAINER, 'the caller does not see the bare id')
      t.match(id, new RegExp(`^${CONTAINER}~hg1\\.`))
      t.match(file, new RegExp(`^${FILE}~hg1\\.`))
      t.notMatch(first.text, `"${CONTAINER}"`)
      if (!stream) t.match(first.text, '"file_id":"report.txt"', 'arguments of calls of the caller are unchanged')

      const upload = [
        {
          role: 'user',
          content: [
            { type: 'container_upload', file_id: file },
            { type: 'text', text: 'x' },
          ],
        },
      ]
      const again = await ask(scene, 'messages', { ...TEXT, ...CODE, messages: upload, container: id, stream, model: 'acme/claude' })
      t.equal(again.status, 200, again.text)
      t.match(again.sent, { container: CONTAINER, messages: [{ content: [{ file_id: FILE }] }] }, 'the provider gets its own id')
      t.equal(again.path, '/v1/messages', 'no other provider is called')
      for (const body of [{ container: id }, { messages: upload }, { container: { id } }]) {
        const foreign = await ask(scene, 'messages', { ...TEXT, ...CODE, ...body, model: 'acme/claude' }, OTHER)
        t.equal(foreign.status, 404, foreign.text)
        t.equal(foreign.sent, undefined)
      }
      const changed = await ask(scene, 'messages', { ...TEXT, container: id.replace('011C', '011D'), model: 'acme/claude' })
      t.equal(changed.status, 404, 'an id that was changed')
      const elsewhere = await ask(scene, 'messages', { ...TEXT, container: id, model: 'acme/spare' })
      t.equal(elsewhere.status, 404, 'a model of another account')

      const answered = await ask(scene, 'responses', {
        input: 'Hi',
        tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
        stream,
        model: 'acme/gpt',
      })
      t.equal(answered.status, 200, answered.text)
      const cntr = idIn(answered.text, 'cntr_')
      t.match(cntr, new RegExp(`^${CNTR}~hg1\\.`))
      t.match(answered.text, /cfile_1234567~hg1\./)
      t.notMatch(answered.text, `"${CNTR}"`)
      t.match(answered.text, 'See \\"file_id\\":\\"x\\"', 'text of the model is unchanged')
      const replay = [{ type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: cntr, outputs: [] }]
      const next = {
        input: [...replay, { role: 'user', content: 'Go on' }],
        tools: [{ type: 'code_interpreter', container: cntr }],
        model: 'acme/gpt',
      }
      const used = await ask(scene, 'responses', next)
      t.equal(used.status, 200, used.text)
      t.match(used.sent, { input: [{ container_id: CNTR }], tools: [{ container: CNTR }] })
      t.equal((await ask(scene, 'responses', next, OTHER)).status, 404)
    })

t.test('ids survive a restart and a new secret of the key', async (t) => {
  const directory = t.testdir()
  const stored = (url: string): string => `store: { url: "sqlite:${directory}/ledger.db" }\n${config(url)}`
  const scene = await startScene(t, { answer, config: stored, directory })
  const id = idIn((await ask(scene, 'messages', { ...TEXT, ...CODE, model: 'acme/claude' })).text, 'container_')
  await scene.gateway.restart()
  t.equal((await ask(scene, 'messages', { ...TEXT, container: id, model: 'acme/claude' })).status, 200)
  const rotated = 'sk-router-v1-9999999999999999dddddddddddddddd'
  t.equal((await scene.gateway.reconfigure(stored(scene.upstream.url).replace(KEY, rotated))).kind, 'applied')
  const asked = await ask(scene, 'messages', { ...TEXT, container: id, model: 'acme/claude' }, rotated)
  t.equal(asked.status, 200, asked.text)
})

t.test('accepts ids from elsewhere that the operator lists', async (t) => {
  const scene = await place(t)
  const file = { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: FILE } }] }
  const added = [
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'code_interpreter', container: 'cntr_of_another' }] },
    { role: 'user', content: 'x' },
  ]
  const named: [Client, JsonObject][] = [
    ['messages', { ...TEXT, model: 'acme/claude', container: CONTAINER }],
    ['messages', { ...TEXT, model: 'acme/claude', messages: [file] }],
    ['responses', { model: 'acme/gpt', input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_abcdefgh'] }] }],
    ['responses', { model: 'acme/gpt', input: added }],
    [
      'messages',
      { ...TEXT, model: 'acme/claude', container: { skills: [{ type: 'custom', skill_id: 'skill_01AbCd', version: 'latest' }] } },
    ],
  ]
  for (const [client, body] of named) {
    const refused = await ask(scene, client, body)
    t.equal(refused.status, 404, refused.text)
    t.equal(refused.sent, undefined)
  }
  t.strictSame(
    await Promise.all(named.map(async ([client, body]) => (await ask(scene, client, body, LISTED)).status)),
    [200, 200, 404, 404, 404],
  )
  const own = { container: { skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] } }
  t.equal((await ask(scene, 'messages', { ...TEXT, ...own, model: 'acme/claude' })).status, 200, 'skills of the provider are open to all')
})

t.test('continues a thread from the provider’s own id of the message', async (t) => {
  for (const lane of [undefined, 'translate'] as const)
    for (const stream of [false, true]) {
      const scene = await place(t, lane)
      const begun = await ask(scene, 'messages', { ...TEXT, stream, model: 'acme/claude', thread: { type: 'create' } })
      const thread = { type: 'continue', previous_message_id: begun.id }
      const next = await ask(scene, 'messages', { ...TEXT, stream, model: 'acme/claude', thread })
      t.equal(next.status, 200, next.text)
      t.match(next.sent, { thread: { type: 'continue', previous_message_id: 'msg_01Provider' } })
      const foreign = await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', thread }, OTHER)
      t.equal(foreign.status, 404)
      t.match(JSON.parse(foreign.text), { error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } } })
      t.equal((await ask(scene, 'messages', { ...TEXT, model: 'acme/spare', thread })).status, 404, 'another provider has no such thread')
    }
})

t.test('holds for a thread, under a limit, the tokens that its last reply reported', async (t) => {
  const limited = (url: string): string =>
    config(url)
      .replace(`key: "${KEY}" }`, `key: "${KEY}", limit: "0.01" }`)
      .replaceAll('price: free', 'price: { prompt: "1.00", completion: "1.00" }')
  const scene = await startScene(t, { answer, config: limited })
  const begun = await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', thread: { type: 'create' } })
  const thread = { type: 'continue', previous_message_id: begun.id }
  const next = await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', thread })
  t.equal(next.status, 200, next.text)
})

t.test('calls no other provider for a thread', async (t) => {
  const scene = await place(t)
  const begun = await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', thread: { type: 'create' } })
  scene.upstream.script = () => jsonAnswer({ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 529)
  const before = scene.upstream.requests.length
  await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', thread: { type: 'continue', previous_message_id: begun.id } })
  for (const { path } of scene.upstream.requests.slice(before)) t.equal(path, '/v1/messages')
})

t.test('sends a thread only to a provider that keeps threads', async (t) => {
  for (const lane of [undefined, 'translate'] as const) {
    const scene = await place(t, lane)
    for (const thread of [{ type: 'create' }, { type: 'continue', thread_id: 'thread_01AbCdEf' }]) {
      const refused = await ask(scene, 'messages', { ...TEXT, model: 'acme/plain', thread })
      t.equal(refused.status, 400, refused.text)
      t.equal(refused.sent, undefined, 'no provider is called')
      t.match(JSON.parse(refused.text), { error: { message: /^thread: /, details: { error_code: 'thread_unsupported_request' } } })
    }
    t.equal((await ask(scene, 'messages', { ...TEXT, model: 'acme/plain', thread: null })).status, 200)
    const begun = await ask(scene, 'messages', { ...TEXT, model: 'acme/mixed', thread: { type: 'create' } })
    t.equal(begun.status, 200, begun.text)
    t.equal(scene.upstream.requests.at(-1)?.path, '/spare/v1/messages')
  }
})

t.test('sends cache diagnostics with the provider’s own id, or with null', async (t) => {
  const scene = await place(t)
  const begun = await ask(scene, 'messages', { ...TEXT, model: 'acme/claude', diagnostics: { previous_message_id: null } })
  const compare = (id: string, key?: string): Promise<Asked> =>
    ask(scene, 'messages', { ...TEXT, model: 'acme/claude', diagnostics: { previous_message_id: id } }, key)
  t.match((await compare(begun.id)).sent, { diagnostics: { previous_message_id: 'msg_01Provider' } })
  const foreign = await compare(begun.id, OTHER)
  t.equal(foreign.status, 200)
  t.match(foreign.sent, { diagnostics: { previous_message_id: null } }, 'an id of another key is not sent')
})

t.test('sends the comparison of the Responses API with the provider’s own id', async (t) => {
  for (const stream of [false, true]) {
    const scene = await place(t)
    const options = { prompt_cache_options: { mode: 'explicit', ttl: '30m' } }
    const begun = await ask(scene, 'responses', { model: 'acme/gpt', input: 'x', stream, ...options })
    t.equal(begun.status, 200, begun.text)
    const next = { model: 'acme/gpt', input: 'x', prompt_cache_options: { mode: 'explicit', comparison_response_id: begun.id } }
    t.match((await ask(scene, 'responses', next)).sent, { prompt_cache_options: { comparison_response_id: 'resp_Provider' } })
    t.match((await ask(scene, 'responses', next, OTHER)).sent, { prompt_cache_options: { comparison_response_id: null } })
  }
})

t.test('accepts ids from elsewhere that a key of the API lists', async (t) => {
  const directory = t.testdir()
  const boss = { authorization: 'Bearer sk-router-v1-9999999999999999boss' }
  const withBoss = (url: string): string =>
    `store: { url: "sqlite:${directory}/ledger.db" }\n${config(url)}`.replace(
      '  keys:\n',
      '  keys:\n    - { name: boss, key: "sk-router-v1-9999999999999999boss", management: true }\n',
    )
  const scene = await startScene(t, { answer, config: withBoss, directory })
  const made = (await (await scene.gateway.post('/v1/keys', { name: 'made', provider_ids: ['file_*'] }, boss)).json()) as {
    key: string
    data: { hash: string; provider_ids: string[] }
  }
  t.same(made.data.provider_ids, ['file_*'])
  const status = async (id: string): Promise<number> => {
    const document = { type: 'document', source: { type: 'file', file_id: id } }
    const body = { ...TEXT, messages: [{ role: 'user', content: [document] }], model: 'acme/claude' }
    return (await ask(scene, 'messages', body, made.key)).status
  }
  t.equal(await status(FILE), 200)
  t.equal(await status('other_file'), 404)
  for (const wrong of ['a b', '', 7])
    t.equal((await scene.gateway.post('/v1/keys', { name: 'wrong', provider_ids: [wrong] }, boss)).status, 400, String(wrong))
  await scene.gateway.restart()
  t.equal(await status(FILE), 200, 'after a restart')
  const patch = async (provider_ids: string[] | null): Promise<unknown> => {
    const reply = await fetch(`${scene.gateway.url}/v1/keys/${made.data.hash}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', ...boss },
      body: JSON.stringify({ provider_ids }),
    })
    t.equal(reply.status, 200)
    return ((await reply.json()) as { data: JsonObject }).data.provider_ids
  }
  t.same(await patch(['other_file']), ['other_file'])
  t.same([await status(FILE), await status('other_file')], [404, 200])
  t.same(await patch(null), [])
  t.same([await status(FILE), await status('other_file')], [404, 404])
})

t.test('checks ids in the path of a pass-through request', async (t) => {
  const open = (url: string): string =>
    config(url)
      .replace(`key: "${KEY}" }`, `key: "${KEY}", pass_through: true }`)
      .replace(`key: "${OTHER}" }`, `key: "${OTHER}", pass_through: true }`)
      .replace('key: a, ', 'key: a, pass_through: { price: "0" }, ')
      .replace('key: b, ', 'key: b, pass_through: { price: "0" }, ')
  const scene = await startScene(t, { answer, config: open })
  const file = idIn((await ask(scene, 'messages', { ...TEXT, ...CODE, model: 'acme/claude' })).text, 'file_0')
  const load = async (path: string, key = KEY): Promise<[status: number, path: string]> => {
    const before = scene.upstream.requests.length
    const reply = await scene.gateway.get(`/v1/passage/${path}`, { authorization: `Bearer ${key}` })
    await reply.text()
    return [reply.status, scene.upstream.requests.slice(before).at(-1)?.path ?? '']
  }
  t.same(await load(`anthropic/v1/files/${file}/content?after=${file}&limit=2`), [200, `/v1/files/${FILE}/content?after=${FILE}&limit=2`])
  t.same(await load(`anthropic/v1/files/${file.replace('~', '%7E')}`), [200, `/v1/files/${FILE}`])
  t.same(await load(`anthropic/v1/files/${file}`, OTHER), [404, ''], "another key's")
  t.same(await load(`spare/v1/files/${file}`), [404, ''], 'at another account')
  t.same(await load(`anthropic/v1/files/${file.slice(0, -1)}${file.endsWith('A') ? 'B' : 'A'}`), [404, ''], 'a changed id')
  t.same(await load('anthropic/v1/files?limit=%20'), [200, '/v1/files?limit=%20'], 'other queries are unchanged')
})

t.test('checks ids in bodies of pass-through requests of keys with a limit', async (t) => {
  const open = (url: string): string =>
    config(url)
      .replace(`key: "${KEY}" }`, `key: "${KEY}", limit: "100.00", pass_through: true }`)
      .replace(`key: "${OTHER}" }`, `key: "${OTHER}", limit: "100.00", pass_through: true }`)
      .replace('key: a, ', 'key: a, pass_through: { price: "0", unread_price: "0" }, ')
      .replace('key: b, ', 'key: b, pass_through: { price: "0", unread_price: "0" }, ')
  const scene = await startScene(t, { answer, config: open })
  const file = idIn((await ask(scene, 'messages', { ...TEXT, ...CODE, model: 'acme/claude' })).text, 'file_0')
  const body = (id: string): string =>
    ` {"model": "claude", "max_tokens": 9,\n  "messages": [{"role": "user", "content": [{"type": "text", "text": "ü ${id}"}, {"type": "container_upload", "file_id": "${id}"}]}]}\n`
  const send = async (path: string, id: string, key = KEY): Promise<[status: number, body: string]> => {
    const before = scene.upstream.requests.length
    const reply = await scene.gateway.post(`/v1/passage/${path}`, body(id), { authorization: `Bearer ${key}` })
    await reply.text()
    return [reply.status, scene.upstream.requests.slice(before).at(-1)?.body ?? '']
  }
  const plain = body(file).replace(`"file_id": "${file}"`, `"file_id": "${FILE}"`)
  t.same(await send('anthropic/v1/messages', file), [200, plain], 'only the id is replaced')
  t.same(await send('anthropic/v1/messages', file, OTHER), [404, ''], "another key's")
  t.same(await send('spare/v1/messages', file), [404, ''], 'at another account')
  t.same(await send('anthropic/v1/messages', `${file.slice(0, -1)}${file.endsWith('A') ? 'B' : 'A'}`), [404, ''], 'a changed id')
})
