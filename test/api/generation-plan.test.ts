/** `POST /v1/generations/{id}/plan`: a recorded request planned again, over real sockets. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startScene } from '../support/scene.ts'
import { answerFor } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const boss = { authorization: `Bearer ${BOSS}` }

const config = (url: string) => `auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1" }
  second: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one:
    name: One
    endpoints:
      - { provider: first, model: one, price: { prompt: "1", completion: "2" } }
      - { provider: second, model: one, price: { prompt: "9", completion: "9" } }
`

async function begin(t: Test) {
  const scene = await startScene(t, {
    config,
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input: 100, output: 10 } }),
  })
  const say = async (more: JsonObject): Promise<string> => {
    const body = { model: 'acme/one', messages: [{ role: 'user', content: 'the secret words' }], ...more }
    const reply = await scene.gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${APP}` })
    if (reply.status !== 200) throw new Error(await reply.text())
    await reply.text()
    return String(reply.headers.get('x-generation-id'))
  }
  const plan = (id: string, key = BOSS) => scene.gateway.post(`/v1/generations/${id}/plan`, {}, { authorization: `Bearer ${key}` })
  return { ...scene, say, plan }
}

t.test('the plan has the inputs of the request, and what differs is named', async (t) => {
  const { say, plan } = await begin(t)
  const id = await say({
    provider: { order: ['second'] },
    temperature: 0.3,
    stop: ['the secret stop'],
    max_tokens: 77,
    stream: true,
    tools: [{ type: 'function', function: { name: 'secret_tool', parameters: { type: 'object', properties: {} } } }],
    made_up_by_the_caller: 'x',
  })
  const reply = await plan(id)
  const text = await reply.text()
  t.equal(reply.status, 200, text)
  t.notMatch(text, /secret|made_up/)
  const { data } = JSON.parse(text) as { data: JsonObject }
  t.match(data, {
    id,
    happened: { model: 'acme/one', provider_name: 'second', endpoint: 'acme/one@second', status: 'completed' },
    plan: {
      requested: 'acme/one',
      key: 'app',
      stream: true,
      preferences: { order: ['second'] },
      candidates: [{ endpoint: 'second', why: { by: 'order' } }, { endpoint: 'first' }],
      hold: { output_cap: 77 },
    },
    refused: null,
    differences: [],
  })
})

t.test('only management keys, and only for what is recorded', async (t) => {
  const { say, plan, gateway } = await begin(t)
  const id = await say({})
  t.equal((await plan(id, APP)).status, 403)
  t.equal((await plan('gen-0')).status, 404)
  t.equal((await gateway.get(`/v1/generations/${id}/plan`, boss)).status, 405)
  t.equal((await gateway.post(`/v1/generations/${id}/other`, {}, boss)).status, 404)
  t.match(await (await plan(id)).json(), {
    data: { plan: { candidates: [{ endpoint: 'first' }, { endpoint: 'second' }] }, differences: [] },
  })
})
