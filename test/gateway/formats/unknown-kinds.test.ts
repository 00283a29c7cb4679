/**
 * Models whose kind neither the configuration nor their server states are offered for texts and for vectors, until their server answers that
 * they do not do one of them: for a while such requests are then refused without a call, and routing does not choose the model for them.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const VECTORS = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], model: 'm', usage: { prompt_tokens: 1 } }
const isVectors = ({ path }: Seen): boolean => path.endsWith('/embeddings')
const error = (status: number, message: string, more: JsonObject = {}): Answer =>
  jsonAnswer({ error: { message, code: status, ...more } }, status)

interface Refusal {
  readonly server: string
  readonly generates: boolean
  readonly refusal: () => Answer
}

/** Answers of servers to a request of the other kind; the versions stand in `src/pipeline/attempt/wrong-kind.ts`. */
const REFUSALS: readonly Refusal[] = [
  {
    server: 'llama.cpp, for texts',
    generates: true,
    refusal: () => error(501, 'This server does not support embeddings. Start it with `--embeddings`', { type: 'not_supported_error' }),
  },
  {
    server: 'llama.cpp, for vectors',
    generates: false,
    refusal: () => error(500, 'the current context does not support logits computation. skipping', { type: 'server_error' }),
  },
  {
    server: 'vLLM, for texts',
    generates: true,
    refusal: () => error(400, 'The model does not support Embeddings API', { type: 'BadRequestError' }),
  },
  { server: 'vLLM, for vectors', generates: false, refusal: () => jsonAnswer({ detail: 'Not Found' }, 404) },
  {
    server: 'Ollama, for texts',
    generates: true,
    refusal: () => error(400, 'this model does not support embeddings', { type: 'invalid_request_error' }),
  },
  { server: 'Ollama, for vectors', generates: false, refusal: () => error(400, '"all-minilm:latest" does not support chat') },
  {
    server: 'infinity, for ranks',
    generates: true,
    refusal: () => error(400, 'ModelNotDeployedError: model=`m` does not support `embed`. Reason: `m` only supports {`rerank`}'),
  },
]

const config = (url: string): string => `
providers:
  own: { dialect: openai-chat, base_url: "${url}/v1", discover: true }
  other: { dialect: openai-chat, base_url: "${url}/other/v1", key: k }
models:
  acme/other: { context: 1000, endpoints: [ { provider: other, model: o, price: free } ] }
`

interface Place extends Scene {
  readonly generate: (more?: JsonObject) => Promise<Response>
  readonly embed: (more?: JsonObject) => Promise<Response>
  readonly calls: () => number
}

async function place(t: Test, { generates, refusal }: Refusal): Promise<Place> {
  const scene = await startScene(t, {
    config,
    answer: (seen) => {
      if (seen.path.endsWith('/models')) return jsonAnswer({ object: 'list', data: [{ id: 'tiny', object: 'model' }] })
      // Facts that some servers state elsewhere are looked for.
      if (seen.method === 'GET') return jsonAnswer({ error: { message: 'not found' } }, 404)
      if (isVectors(seen) === generates && !seen.path.startsWith('/other')) return refusal()
      return isVectors(seen) ? jsonAnswer(VECTORS) : answerFor(seen, { text: ['fine'] })
    },
  })
  await eventually('the list', async () => (await scene.gateway.get('/v1/models/own/tiny')).status === 200)
  const generate = (more: JsonObject = {}): Promise<Response> =>
    scene.gateway.post('/v1/chat/completions', { model: 'own/tiny', messages: [{ role: 'user', content: 'hello' }], ...more })
  const embed = (more: JsonObject = {}): Promise<Response> =>
    scene.gateway.post('/v1/embeddings', { model: 'own/tiny', input: 'hello', ...more })
  return {
    ...scene,
    generate,
    embed,
    calls: () => scene.upstream.requests.filter(({ method, path }) => method === 'POST' && path.startsWith('/v1')).length,
  }
}

for (const refusal of REFUSALS)
  t.test(`${refusal.server}: refused once, then without a call`, async (t) => {
    const scene = await place(t, refusal)
    const [right, wrong] = refusal.generates ? [scene.generate, scene.embed] : [scene.embed, scene.generate]
    const first = await wrong()
    t.ok([400, 404].includes(first.status), `the first one: ${first.status}`)
    await first.text()
    t.equal(scene.calls(), 1)
    for (let round = 0; round < 3; round++) {
      const refused = await wrong()
      t.equal(refused.status, refusal.generates ? 404 : 400, 'refused')
      t.match(await refused.json(), { error: { message: /own\/tiny does not (?:embed|generate text), as its server answered/ } })
    }
    t.equal(scene.calls(), 1, 'without a call')
    t.equal((await right()).status, 200, 'what it does is served')
    await scene.clock.advance(11 * 60_000)
    await (await wrong()).text()
    t.equal(scene.calls(), 3, 'after a while it is called again')
  })

const [EMBEDS] = REFUSALS.filter(({ generates }) => !generates) as [Refusal]

t.test('a request with another model goes there at once', async (t) => {
  const scene = await place(t, EMBEDS)
  for (const calls of [1, 1]) {
    const response = await scene.generate({ models: ['own/tiny', 'acme/other'] })
    t.match(await response.json(), { model: 'acme/other' })
    t.equal(scene.calls(), calls)
  }
})

t.test('a refusal that repeats words of the caller does not mark the model', async (t) => {
  const words = 'the model does not support chat'
  const scene = await place(t, { server: '', generates: false, refusal: () => error(400, `cannot read the message: ${words}`) })
  for (const calls of [1, 2]) {
    const response = await scene.generate({ messages: [{ role: 'user', content: words }] })
    t.equal(response.status, 400)
    t.notMatch(object(object((await response.json()) as JsonObject).error).message, /as its server answered/)
    t.equal(scene.calls(), calls, 'each is called for')
  }
})

t.test('models whose kind is declared are called whatever their server says', async (t) => {
  const scene = await startScene(t, { answer: () => error(400, 'this model does not support chat') })
  for (const calls of [1, 2]) {
    await (await scene.ask()).text()
    t.equal(scene.upstream.requests.length, calls)
  }
})

t.test('404 of a server that has generated before does not mark the model: a proxy in front may have sent it', async (t) => {
  let isAway = false
  const scene = await startScene(t, {
    config,
    answer: (seen) => {
      if (seen.path.endsWith('/models')) return jsonAnswer({ object: 'list', data: [{ id: 'tiny', object: 'model' }] })
      if (seen.method === 'GET' || isAway) return jsonAnswer({ detail: 'Not Found' }, 404)
      return answerFor(seen, { text: ['fine'] })
    },
  })
  await eventually('the list', async () => (await scene.gateway.get('/v1/models/own/tiny')).status === 200)
  const ask = async (): Promise<number> => {
    const reply = await scene.gateway.post('/v1/chat/completions', { model: 'own/tiny', messages: [{ role: 'user', content: 'hello' }] })
    await reply.text()
    return reply.status
  }
  t.equal(await ask(), 200)
  isAway = true
  t.not(await ask(), 200)
  isAway = false
  t.equal(await ask(), 200, 'it is called again as soon as it is there')
})
