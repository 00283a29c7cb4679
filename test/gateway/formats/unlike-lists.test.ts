/**
 * Lists of models as real servers write them: vLLM and llama.cpp call a model by the path that it was loaded from, infinity 0.0.78 states
 * what a model does as `capabilities`, others not at all, and times in a list are those of the request.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { list, object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'

const MODELS: readonly JsonObject[] = [
  { id: '/models/tiny', object: 'model', max_model_len: 1024 },
  { id: 'plain', object: 'model', meta: { n_ctx: 2048, n_ctx_train: 32_768 } },
  { id: 'embedder', object: 'model', capabilities: ['embed'] },
  { id: 'ranker', object: 'model', capabilities: ['rerank'] },
  { id: 'C:\\models\\x.gguf', object: 'model' },
]

const config = (url: string): string => `
providers:
  own: { dialect: openai-chat, base_url: "${url}/v1", discover: { every: 60s } }
  claude: { dialect: anthropic, base_url: "${url}", discover: true }
models:
  acme/declared: { endpoints: [ { provider: own, model: /models/tiny, price: free } ] }
`

const VECTORS = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
  model: 'm',
  usage: { prompt_tokens: 1, total_tokens: 1 },
}
const CHAT = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

/** A server whose list has the time of each request in it. */
function server(): (request: Seen) => Answer {
  let time = 1_800_000_000
  return ({ path }) => {
    if (path.startsWith('/v1/models'))
      return jsonAnswer({ object: 'list', data: MODELS.map((model) => ({ ...model, created: time++, stats: { queue: time } })) })
    if (path.endsWith('/embeddings')) return jsonAnswer(VECTORS)
    return path.endsWith('/chat/completions') ? jsonAnswer(CHAT) : jsonAnswer({ error: { message: 'not found' } }, 404)
  }
}

t.test('models are found with what their server states, and do what it may be able to', async (t) => {
  const { gateway, upstream, clock } = await startScene(t, { answer: server(), config })
  const listed = async (): Promise<JsonObject[]> => list(((await (await gateway.get('/v1/models')).json()) as JsonObject).data)
  await eventually('the lists', async () => (await listed()).length > 5)
  const context = new Map((await listed()).map(({ id, context_length }) => [id, context_length]))
  t.equal(context.get('own/models/tiny'), 1024, 'a path is a name, without its slash')
  t.equal(context.get('own/plain'), 2048, 'what the server accepts goes before what the model was made for')
  t.equal(context.get('claude/models/tiny'), 1024, 'over the wire of Anthropic as well')
  t.equal(context.get('claude/plain'), 2048)
  const chat = (model: string) => gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hello' }] })
  const embed = (model: string) => gateway.post('/v1/embeddings', { model, input: 'hello' })
  t.equal((await chat('own/models/tiny')).status, 200)
  t.equal(object(upstream.requests.at(-1)?.json).model, '/models/tiny', 'the server gets its own name')
  t.equal((await embed('own/models/tiny')).status, 200, 'a model of unknown kind embeds as well')
  t.equal((await embed('own/embedder')).status, 200, 'one that embeds by its capabilities')
  t.equal((await chat('own/embedder')).status, 400, 'and does not chat')
  t.equal((await chat('own/ranker')).status, 400, 'nor does one that ranks')
  const long = await gateway.post('/v1/chat/completions', {
    model: 'acme/declared',
    max_tokens: 4000,
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.equal(long.status, 200)
  t.ok(Number(object(upstream.requests.at(-1)?.json).max_tokens) < 1024, 'a declared model takes its context from the list')

  const left = gateway.logs.filter((line) => line.includes('models of the list are left out') && line.includes('"own"'))
  t.equal(left.length, 1, 'one warning')
  t.match(left[0], 'x.gguf')
  const before = JSON.stringify(await listed())
  const lists = (): number => upstream.requests.filter(({ path }) => path === '/v1/models').length
  for (let round = 0; round < 3; round++) {
    const seen = lists()
    await eventually('another list', () => {
      clock.advance(60_000)
      return lists() > seen
    })
  }
  t.equal(JSON.stringify(await listed()), before, 'another time in the list is no news')
  t.equal(
    gateway.logs.filter((line) => line.includes('models of the list are left out') && line.includes('"own"')).length,
    1,
    'nor is the same entry',
  )
})

t.test('a server that answers with no list is warned of once', async (t) => {
  const { gateway, upstream, clock } = await startScene(t, { answer: () => jsonAnswer({ detail: 'Internal Server Error' }, 500), config })
  const lists = (): number => upstream.requests.filter(({ path }) => path === '/v1/models').length
  for (let round = 0; round < 3; round++) {
    const seen = lists()
    await eventually('another attempt', () => {
      clock.advance(60_000)
      return lists() > seen
    })
  }
  const lines = gateway.logs.filter((line) => line.includes('no list of models') && line.includes('"own"'))
  t.equal(lines.length, 1, lines.join('\n'))
  t.match(lines[0], '"status":500')
})

t.test('each entry that cannot be used is warned of once, however many there are and whenever it comes', async (t) => {
  const ids = ['C:\\one', 'two words', '/', '', 'x'.repeat(300), 'five words', 'six words', 'seven words', 'eight words']
  const entries: JsonObject[] = [...ids.map((id) => ({ id, object: 'model' })), { object: 'model', name: 'nameless' }]
  const { gateway, upstream, clock } = await startScene(t, {
    config: (url) => `providers: { own: { dialect: openai-chat, base_url: "${url}/v1", discover: { every: 60s } } }\n`,
    answer: ({ path }) =>
      path === '/v1/models' ? jsonAnswer({ object: 'list', data: [{ id: 'fine' }, ...entries] }) : jsonAnswer({}, 404),
  })
  const warned = (): { models: string[]; others?: number }[] =>
    gateway.logs.filter((line) => line.includes('models of the list are left out')).map((line) => JSON.parse(line))
  const lists = (): number => upstream.requests.filter(({ path }) => path === '/v1/models').length
  const nextList = async (): Promise<void> => {
    const seen = lists()
    await eventually('another list', () => {
      clock.advance(60_000)
      return lists() > seen
    })
  }
  await eventually('the list', async () => (await gateway.get('/v1/models/own/fine')).status === 200)
  const [first] = warned()
  t.same([first?.models.length, first?.others], [8, 2], 'eight are named, the others counted')
  t.same(first?.models.slice(0, 4), ids.slice(0, 4))
  t.equal(first?.models[4]?.length, 200, 'a long one is cut')
  await nextList()
  entries.push({ id: 'words that came later' })
  await nextList()
  await eventually('a second warning', () => warned().length > 1)
  await nextList()
  await nextList()
  t.same(
    warned()
      .slice(1)
      .map(({ models, others }) => [models, others]),
    [[['words that came later'], undefined]],
    'what comes later alone',
  )
})
