/** `discover: true` at the usual servers of one's own: recorded lists, asked over HTTP by the running gateway. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { describedList } from '../../src/routing/catalog/server-facts.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { type Answer, Gate, jsonAnswer, REFUSING_URL, type Seen, startUpstream, type Upstream } from '../support/upstream.ts'

/** Answers of a server, by path; anything else is a 404 in HTML, as such servers have it. */
type Recorded = Record<string, JsonObject | ((seen: Seen) => Answer)>

const OLLAMA: Recorded = {
  '/v1/models': {
    object: 'list',
    data: [
      { id: 'gemma3:12b', object: 'model', created: 1_745_000_000, owned_by: 'library' },
      { id: 'qwen3:8b', object: 'model', created: 1_746_000_000, owned_by: 'library' },
      { id: 'nomic-embed-text:latest', object: 'model', created: 1_712_000_000, owned_by: 'library' },
    ],
  },
  '/api/tags': {
    models: ['gemma3:12b', 'qwen3:8b', 'nomic-embed-text:latest'].map((name) => ({ name, model: name, size: 1, digest: 'd' })),
  },
  '/api/show': (seen) =>
    jsonAnswer(
      {
        'gemma3:12b': {
          parameters: 'stop                           "<end_of_turn>"\ntemperature                    1',
          details: { format: 'gguf', family: 'gemma3', parameter_size: '12.2B', quantization_level: 'Q4_K_M' },
          model_info: { 'general.architecture': 'gemma3', 'gemma3.context_length': 131_072, 'gemma3.embedding_length': 3840 },
          capabilities: ['completion', 'vision'],
        },
        'qwen3:8b': {
          parameters: 'num_ctx                        16384\ntop_k                          20',
          details: { format: 'gguf', family: 'qwen3', parameter_size: '8.2B', quantization_level: 'Q8_0' },
          model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40_960 },
          capabilities: ['completion', 'tools', 'thinking'],
        },
        'nomic-embed-text:latest': {
          details: { format: 'gguf', family: 'nomic-bert', parameter_size: '137M', quantization_level: 'F16' },
          model_info: { 'general.architecture': 'nomic-bert', 'nomic-bert.context_length': 2048 },
          capabilities: ['embedding'],
        },
      }[String(seen.json.model)],
    ),
}

const VLLM: Recorded = {
  '/v1/models': {
    object: 'list',
    data: [
      {
        id: 'Qwen/Qwen2.5-14B-Instruct',
        object: 'model',
        created: 1_750_000_000,
        owned_by: 'vllm',
        root: 'Qwen/Qwen2.5-14B-Instruct',
        parent: null,
        max_model_len: 32_768,
        permission: [{ id: 'modelperm-1', object: 'model_permission', allow_sampling: true }],
      },
    ],
  },
}

const LLAMA_CPP: Recorded = {
  '/v1/models': {
    models: [{ name: 'gemma-4', model: 'gemma-4', type: 'model', capabilities: ['completion', 'multimodal'] }],
    object: 'list',
    data: [
      {
        id: 'unsloth/gemma-4-E2B-it-GGUF:Q4_K_M',
        object: 'model',
        created: 1_777_491_665,
        owned_by: 'llamacpp',
        meta: { vocab_type: 2, n_vocab: 262_144, n_ctx_train: 131_072, n_embd: 1536, n_params: 4_647_450_147, size: 3_090_917_516 },
      },
    ],
  },
  '/props': {
    default_generation_settings: { id: 0, n_ctx: 16_384, params: { temperature: 0.8 } },
    total_slots: 4,
    model_path: '/models/gemma-4-E2B-it-Q4_K_M.gguf',
    modalities: { vision: true, audio: false },
    build_info: 'b9000-abcdef',
  },
}

const LM_STUDIO: Recorded = {
  '/v1/models': {
    data: ['qwen2-vl-7b-instruct', 'meta-llama-3.1-8b-instruct', 'text-embedding-nomic-embed-text-v1.5'].map((id) => ({
      id,
      object: 'model',
      owned_by: 'organization_owner',
    })),
    object: 'list',
  },
  '/api/v0/models': {
    object: 'list',
    data: [
      { id: 'qwen2-vl-7b-instruct', object: 'model', type: 'vlm', quantization: '4bit', state: 'not-loaded', max_context_length: 32_768 },
      {
        id: 'meta-llama-3.1-8b-instruct',
        object: 'model',
        type: 'llm',
        arch: 'llama',
        quantization: 'Q4_K_M',
        state: 'loaded',
        max_context_length: 131_072,
        loaded_context_length: 8192,
      },
      {
        id: 'text-embedding-nomic-embed-text-v1.5',
        object: 'model',
        type: 'embeddings',
        quantization: 'Q4_0',
        state: 'not-loaded',
        max_context_length: 2048,
      },
    ],
  },
}

async function serve(t: Test, recorded: Recorded): Promise<Upstream> {
  const server = await startUpstream((seen) => {
    const known = recorded[seen.path.replace(/\?.*/, '')]
    if (known === undefined) return { status: 404, headers: { 'content-type': 'text/html' }, body: ['<h1>Not Found</h1>'] }
    return typeof known === 'function' ? known(seen) : jsonAnswer(known)
  })
  t.teardown(() => server.close())
  return server
}

interface Listed {
  id: string
  context_length: number | null
  architecture: { input_modalities: string[]; output_modalities: string[] }
}

/** The facts of every discovered model, as the lists and the endpoint list show them. */
async function discovered(t: Test, recorded: Recorded): Promise<(string | number | null | undefined)[][]> {
  const server = await serve(t, recorded)
  const gateway = await startGateway(`providers:\n  own: { dialect: openai-chat, base_url: "${server.url}/v1", discover: true }\n`)
  t.teardown(() => gateway.close())
  await gateway.running.runtime.discover()
  const { data } = (await (await gateway.get('/v1/models?output_modalities=all')).json()) as { data: Listed[] }
  const rows = data.map(async ({ id, context_length, architecture }) => {
    const reply = (await (await gateway.get(`/v1/models/${id}/endpoints`)).json()) as { data: { endpoints: { quantization: string }[] } }
    const { input_modalities: input, output_modalities: output } = architecture
    return [id, context_length, `${input.join('+')}->${output.join('+')}`, reply.data.endpoints[0]?.quantization]
  })
  return Promise.all(rows)
}

t.test('Ollama: the window that a model sets goes before what it was made for', async (t) => {
  t.same(await discovered(t, OLLAMA), [
    ['own/gemma3:12b', 131_072, 'text+image->text', 'int4'],
    ['own/qwen3:8b', 16_384, 'text->text', 'int8'],
    ['own/nomic-embed-text:latest', 2048, 'text->embeddings', 'fp16'],
  ])
})

t.test('Ollama over the dialect of Anthropic', async (t) => {
  const server = await serve(t, OLLAMA)
  const gateway = await startGateway(`providers:\n  own: { dialect: anthropic, base_url: "${server.url}", discover: true }\n`)
  t.teardown(() => gateway.close())
  await gateway.running.runtime.discover()
  const { data } = (await (await gateway.get('/v1/models')).json()) as { data: Listed[] }
  t.same(
    data.map(({ id, context_length }) => [id, context_length]),
    [
      ['own/gemma3:12b', 131_072],
      ['own/qwen3:8b', 16_384],
    ],
    'what the server says of its models beside the list of names is read there too; a model of embeddings serves nothing over it',
  )
})

t.test('vLLM: the list itself tells the length', async (t) => {
  t.same(await discovered(t, VLLM), [['own/Qwen/Qwen2.5-14B-Instruct', 32_768, 'text+image->text', 'unknown']])
})

t.test('llama.cpp: what a slot really holds goes before what the model was trained for', async (t) => {
  t.same(await discovered(t, LLAMA_CPP), [['own/unsloth/gemma-4-E2B-it-GGUF:Q4_K_M', 16_384, 'text+image->text', 'unknown']])
})

t.test('llama.cpp without /props: its training length is better than nothing', async (t) => {
  const { '/v1/models': list } = LLAMA_CPP
  t.match(await discovered(t, { '/v1/models': list }), [[/gemma-4/, 131_072]])
})

t.test('LM Studio: a loaded model has the length it was loaded with', async (t) => {
  t.same(await discovered(t, LM_STUDIO), [
    ['own/qwen2-vl-7b-instruct', 32_768, 'text+image->text', 'int4'],
    ['own/meta-llama-3.1-8b-instruct', 8192, 'text->text', 'int4'],
    ['own/text-embedding-nomic-embed-text-v1.5', 2048, 'text->embeddings', 'int4'],
  ])
})

t.test('questions go to the root of the server, with its headers', async (t) => {
  const server = await serve(t, OLLAMA)
  const gateway = await startGateway(
    `providers:\n  own: { dialect: openai-chat, base_url: "${server.url}/v1/", key: "sk-own-secret", query: { tenant: a }, discover: true }\n`,
  )
  t.teardown(() => gateway.close())
  await gateway.running.runtime.discover()
  const paths = new Set(server.requests.map(({ method, path }) => `${method} ${path}`))
  for (const path of ['/v1/models', '/api/tags', '/api/v0/models']) t.ok(paths.has(`GET ${path}?tenant=a`), path)
  t.ok(paths.has('POST /api/show?tenant=a'))
  t.same(
    server.requests.filter(({ headers }) => headers.authorization !== 'Bearer sk-own-secret').map(({ path }) => path),
    [],
  )
})

t.test('a server that never answers, breaks or is not there delays neither start nor the others', async (t) => {
  const gate = new Gate()
  const silent = await startUpstream(() => ({ headers: { 'content-type': 'application/json' }, body: [gate.step, '{'] }))
  t.teardown(() => silent.close())
  const broken = await serve(t, { '/v1/models': () => ({ body: ['{"data": [{"id": "a"},'] }) })
  const failing = await serve(t, { '/v1/models': () => jsonAnswer({ data: [{ id: 'trap' }] }, 500) })
  const gateway = await startGateway(`
providers:
  silent: { dialect: openai-chat, base_url: "${silent.url}/v1", discover: true }
  broken: { dialect: openai-chat, base_url: "${broken.url}/v1", discover: true }
  failing: { dialect: openai-chat, base_url: "${failing.url}/v1", discover: true }
  gone: { dialect: openai-chat, base_url: "${REFUSING_URL}/v1", discover: true }
  sim: { dialect: sim }
models:
  sim/echo: { endpoints: [{ provider: sim, model: echo }] }
`)
  t.teardown(() => gateway.close())
  await silent.request(0)
  const ids = async () => ((await (await gateway.get('/v1/models')).json()) as { data: Listed[] }).data.map(({ id }) => id)
  t.same(await ids(), ['sim/echo'], 'it serves while one is still silent')
  gate.open()
  await gateway.running.runtime.discover()
  t.same(await ids(), ['sim/echo'], 'nothing of a broken answer is taken')
})

t.test('a server that stops answering half way keeps what it told', async (t) => {
  const names = Array.from({ length: 20 }, (_, i) => `m${i}`)
  let shows = 0
  const described = await describedList({ data: names.map((id) => ({ id })) }, async (path) => {
    if (path === '/api/tags') return { models: names.map((name) => ({ name })) }
    if (path !== '/api/show') throw new Error('not found')
    shows++
    if (shows > 4) throw new Error('gone')
    return { model_info: { 'x.context_length': 1000 + shows } }
  })
  const lengths = (described.data as JsonObject[]).map((entry) => entry.context_length)
  t.same(lengths.slice(0, 5), [1001, 1002, 1003, 1004, undefined])
  t.ok(shows <= 8, `after the first failure nobody is asked any more (${shows} questions)`)
})

t.test('answers of any shape do no harm', async (t) => {
  const odd: JsonObject[] = [
    { data: 'no', models: 3, default_generation_settings: [], modalities: 1 },
    { data: [null, { id: 'a', type: 'toString', max_context_length: -1 }], models: [{ name: 'a' }, null] },
    { data: [{ id: 'a', type: 'llm', max_context_length: '32768', quantization: 7 }], default_generation_settings: { n_ctx: 1.5 } },
    { capabilities: 'vision', model_info: [], details: null, parameters: 'num_ctx many', models: [{ name: 'a' }] },
  ]
  await every(t, 'every answer', async (t) => {
    for (const answer of odd) {
      const described = await describedList({ data: [{ id: 'a' }, 'b', { id: 4 }] }, async () => answer)
      const [first] = described.data as JsonObject[]
      t.equal(first?.context_length, undefined, JSON.stringify(answer))
      t.notOk(Object.hasOwn(first ?? {}, 'quantization'))
    }
  })
})
