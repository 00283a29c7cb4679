/**
 * Ids that providers give under other names than `id`, in other places of a reply, as numbers or in its head, are bound to the key that got
 * them, whichever provider it is.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'

const KEYS = { first: 'sk-router-v1-first-0123456789abcdef01', second: 'sk-router-v1-second-0123456789abcdef0' }
type Key = keyof typeof KEYS

async function scene(t: Test, answer: (seen: Seen) => Answer) {
  const place = await startScene(t, {
    answer,
    config: (url) => `
auth: { keys: [ { name: first, key: "${KEYS.first}", pass_through: true }, { name: second, key: "${KEYS.second}", pass_through: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider, pass_through: { price: "0.001" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "10.00" } } ] } }
`,
  })
  const bearer = (key: Key): Record<string, string> => ({ authorization: `Bearer ${KEYS[key]}` })
  return {
    ...place,
    get: async (key: Key, path: string) => (await place.gateway.get(`/v1/passage/first${path}`, bearer(key))).status,
    post: (key: Key, path: string, body: JsonObject) => place.gateway.post(`/v1/passage/first${path}`, body, bearer(key)),
    list: async (key: Key, path: string) =>
      (await (await place.gateway.get(`/v1/passage/first${path}`, bearer(key))).json()) as Record<string, JsonObject[]>,
  }
}

const TASK = '0385dc79-5ff8-4d82-bcb6-0123456789ab'

interface Given {
  /** The operation that makes something, and what its provider replies. */
  readonly from: string
  readonly path: string
  readonly body?: JsonObject
  readonly reply: Answer
  /** Paths that name what was made, and bodies. */
  readonly paths: readonly string[]
  readonly bodies?: readonly (readonly [path: string, body: JsonObject])[]
}

const GIVEN: readonly Given[] = [
  {
    from: 'xai-sdk 1.21.0, batch_pb2.Batch',
    path: '/v1/batches',
    reply: jsonAnswer({ batch_id: 'batch_0123456789', name: 'nightly', create_api_key_id: 'ak_0123456789' }),
    paths: ['/v1/batches/batch_0123456789', '/v1/batches/batch_0123456789/results?limit=100'],
    bodies: [['/v1/batches/batch_0123456789:cancel', {}]],
  },
  {
    from: 'docs.x.ai, "Deferred chat completions"',
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'x' }], deferred: true },
    reply: jsonAnswer({ request_id: TASK }),
    paths: [`/v1/chat/deferred-completion/${TASK}`],
  },
  {
    from: 'docs.x.ai, "Files": uploads in pieces',
    path: '/v1/files:initialize',
    reply: jsonAnswer({ file_id: 'file_0123456789' }),
    paths: ['/v1/files/file_0123456789/content'],
    bodies: [['/v1/files:uploadChunks', { file_id: 'file_0123456789', chunk: 'aGVsbG8=' }]],
  },
  {
    from: 'mistralai 3.7.0, ConversationResponse',
    path: '/v1/conversations',
    body: { model: 'm', inputs: 'x' },
    reply: jsonAnswer({ object: 'conversation.response', conversation_id: 'conv_0123456789abcdef', outputs: [], usage: {} }),
    paths: ['/v1/conversations/conv_0123456789abcdef/history'],
    bodies: [['/v1/conversations/conv_0123456789abcdef', { inputs: 'go on' }]],
  },
  {
    from: 'dashscope 2.0.2, files',
    path: '/api/v1/files',
    reply: jsonAnswer({ data: { uploaded_files: [{ name: 'a.pdf', file_id: TASK }], failed_uploads: [] }, request_id: 'req-0123456789' }),
    paths: [`/api/v1/files/${TASK}`],
    bodies: [['/api/v1/fine-tunes', { training_file_ids: [TASK] }]],
  },
  {
    from: 'dashscope 2.0.2, tasks',
    path: '/api/v1/services/aigc/video-generation/video-synthesis',
    reply: jsonAnswer({ output: { task_id: TASK, task_status: 'PENDING' }, request_id: 'req-0123456789' }),
    paths: [`/api/v1/tasks/${TASK}`],
  },
  {
    from: 'docs.cohere.com, "Create an Embed Job"',
    path: '/v1/embed-jobs',
    reply: jsonAnswer({ job_id: TASK, meta: { api_version: { version: '1' } } }),
    paths: [`/v1/embed-jobs/${TASK}`],
  },
  {
    from: 'docs.siliconflow.cn, "video/status"',
    path: '/v1/video/submit',
    reply: jsonAnswer({ requestId: 'k7d2m4x9q1z8' }),
    paths: [],
    bodies: [['/v1/video/status', { requestId: 'k7d2m4x9q1z8' }]],
  },
  {
    from: 'platform.minimax.io, "File Management": ids are of int64',
    path: '/v1/files/upload',
    reply: jsonAnswer({ file: { file_id: 176_844_028_768_320, bytes: 5_896_337, filename: 'a.mp3' }, base_resp: { status_code: 0 } }),
    paths: ['/v1/files/retrieve?file_id=176844028768320'],
    bodies: [['/v1/voice_clone', { file_id: 176_844_028_768_320, voice_id: 'mine' }]],
  },
  {
    from: 'developers.cloudflare.com, "Batch API"',
    path: '/v4/accounts/a/ai/run/m',
    reply: jsonAnswer({ result: { status: 'queued', request_id: TASK, model: 'm' }, success: true }),
    paths: [],
    bodies: [['/v4/accounts/a/ai/run/m', { request_id: TASK }]],
  },
  {
    from: 'learn.microsoft.com, "Operation-Location"',
    path: '/v1/images/generations:submit',
    reply: { status: 202, headers: { 'operation-location': `https://a.example/openai/operations/images/${TASK}?api-version=1` }, body: [] },
    paths: [`/openai/operations/images/${TASK}`],
  },
  {
    from: 'a reply of JSON that has no type',
    path: '/v1/jobs',
    reply: { headers: { 'content-type': 'text/plain' }, body: [JSON.stringify({ jobId: 'job-0123456789' })] },
    paths: ['/v1/jobs/job-0123456789'],
  },
]

t.test('ids under any name are of use to the key that got them alone', async (t) => {
  await every(t, 'each provider', async (t) => {
    for (const { from, path, body = { model: 'm' }, reply, paths, bodies = [] } of GIVEN) {
      let answer: Answer = reply
      const { get, post, upstream } = await scene(t, () => answer)
      t.ok((await post('first', path, body)).ok, from)
      answer = jsonAnswer({ fine: true })
      for (const each of paths) {
        t.equal(await get('second', each), 404, `${from}: ${each}`)
        t.equal(await get('first', each), 200, `${from}: ${each} of its own`)
      }
      for (const [each, naming] of bodies) {
        t.equal((await post('second', each, naming)).status, 404, `${from}: ${each}`)
        t.equal((await post('first', each, naming)).status, 200, `${from}: ${each} of its own`)
      }
      t.equal(upstream.requests.length, 1 + paths.length + bodies.length, from)
    }
  })
})

t.test('lists leave out what other keys have made, by any name of an id', async (t) => {
  const made = { first: 'batch_0000000001', second: 'batch_0000000002' }
  let making: Key = 'first'
  const { post, list } = await scene(t, ({ method }) =>
    method === 'POST'
      ? jsonAnswer({ batch_id: made[making], name: 'nightly' })
      : jsonAnswer({ batches: Object.values(made).map((batch_id) => ({ batch_id, name: 'nightly', state: {} })), pagination_token: null }),
  )
  for (making of ['first', 'second'] as const) t.ok((await post(making, '/v1/batches', { name: 'nightly' })).ok)
  for (const key of ['first', 'second'] as const)
    t.strictSame(
      (await list(key, '/v1/batches')).batches?.map(({ batch_id: id }) => id),
      [made[key]],
      key,
    )
})

t.test('the file that a task of a key has made is of use to that key alone', async (t) => {
  const { get, post } = await scene(t, ({ method }) =>
    jsonAnswer(
      method === 'POST' ? { task_id: '106916112212032' } : { task_id: '106916112212032', status: 'Success', file_id: '176844028768320' },
    ),
  )
  t.ok((await post('first', '/v1/video_generation', { model: 'm', prompt: 'x' })).ok)
  t.equal(await get('second', '/v1/query/video_generation?task_id=106916112212032'), 404)
  t.equal(await get('first', '/v1/query/video_generation?task_id=106916112212032'), 200)
  t.equal(await get('second', '/v1/files/retrieve?file_id=176844028768320'), 404)
})

t.test('what accounts share stays open: members of the account, of models, and words of the caller', async (t) => {
  const { get, post } = await scene(t, () =>
    jsonAnswer({
      id: 'thing_0123456789',
      organization_id: 'org-0123456789',
      project_id: 'proj_0123456789',
      workspaceId: 'wrkspc_0123456789',
      user_id: 'user-0123456789',
      model_id: 'model-2026-01-01',
      model: { id: 'model-2026-01-02' },
      owner: { id: 'user-0123456780' },
      type_id: 'standard',
      agent_id: 'agent_shared_01',
      usage: { request_id: 'req_0123456789' },
    }),
  )
  t.ok((await post('first', '/v1/things', { agent_id: 'agent_shared_01' })).ok)
  t.equal(await get('second', '/v1/things/thing_0123456789'), 404, 'what was made is bound')
  for (const shared of [
    ...['org-0123456789', 'proj_0123456789', 'wrkspc_0123456789', 'user-0123456789', 'model-2026-01-01', 'model-2026-01-02'],
    ...['user-0123456780', 'standard', 'agent_shared_01', 'req_0123456789'],
  ])
    t.equal(await get('second', `/v1/things?of=${shared}`), 200, shared)
})
