/** Requests of applications that have moved here from another gateway: its headers, its way to name models, its fields. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'

const HEADERS = {
  'x-portkey-config': '{"strategy":{"mode":"fallback"}}',
  'x-portkey-provider': 'openai',
  'cf-aig-cache-ttl': '3600',
  'cf-aig-max-attempts': '5',
  'x-litellm-tags': 'free',
  'x-litellm-num-retries': '3',
  'x-bf-vk': 'sk-bf-1',
}

t.test('headers of other gateways are not read, and go to no provider', async (t) => {
  const { ask, upstream } = await startScene(t)
  for (const dialect of ['chat', 'responses', 'messages'] as const) {
    const response = await ask({}, dialect, HEADERS)
    t.equal(response.status, 200, await response.text())
    const sent = Object.keys(upstream.requests.at(-1)?.headers ?? {})
    t.same(
      sent.filter((name) => name in HEADERS),
      [],
      dialect,
    )
    t.equal(response.headers.get('cf-aig-cache-status'), null)
  }
})

t.test('a key in the header of another gateway is none', async (t) => {
  const { gateway } = await startScene(t)
  const call = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }),
    })
  const key = gateway.key
  t.equal((await call({ authorization: `Bearer ${key}` })).status, 200)
  t.equal((await call({ 'x-api-key': key })).status, 200)
  t.equal((await call({ 'x-goog-api-key': key })).status, 200)
  for (const name of ['x-bf-vk', 'x-portkey-api-key', 'x-litellm-api-key', 'cf-aig-authorization']) {
    const response = await call({ [name]: key })
    t.equal(response.status, 401, name)
    t.match(object(((await response.json()) as JsonObject).error).message, /authori[sz]ation|authentication/i)
  }
})

t.test('names of models in the words of other gateways are none of ours, and the error says so', async (t) => {
  const { ask } = await startScene(t)
  for (const model of ['tensorzero::model_name::openai::gpt-5.5', '@openai-prod/gpt-5.5', 'dynamic/route']) {
    const response = await ask({ model })
    const error = object(((await response.json()) as JsonObject).error)
    t.ok([400, 404].includes(response.status), `${model}: ${response.status} ${String(error.message)}`)
    t.match(String(error.message), /model/i)
  }
})

t.test('tags of LiteLLM are a list where metadata takes texts', async (t) => {
  const { ask } = await startScene(t)
  const response = await ask({ metadata: { tags: ['free'] } })
  t.equal(response.status, 400)
  t.match(object(((await response.json()) as JsonObject).error).message, /metadata/)
})
