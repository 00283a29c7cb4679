/** `error.code` is the status, as the contract has it, or a name for clients whose types have a text there. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { KEY } from '../../support/gateway.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { answerFor, upstreamError } from '../../support/wire.ts'

const NAMED = `sk-hg-v1-${'1'.repeat(64)}`
const yaml = (code = ''): string => `auth: { keys: [ { name: test, key: "${KEY}" }, { name: named, key: "${NAMED}", error_code: name } ] }
${code === '' ? '' : `errors: { code: ${code} }\n`}`

async function replyCode(reply: Response): Promise<unknown> {
  return object(object((await reply.json()) as JsonObject).error).code
}

async function start(t: Test, code?: string): Promise<Scene> {
  return startScene(t, { yaml: yaml(code) })
}

const UNKNOWN = { model: 'acme/none' }

t.test('auto: clients that need a name get one, all others the status', async (t) => {
  const scene = await start(t)
  for (const [agent, expected] of [
    ['OpenAIClientImpl/Java 4.101.0', 'model_not_found'],
    ['OpenAIClientAsyncImpl/Java 4.101.0', 'model_not_found'],
    ['OpenAI/Go 3.99.0', 'model_not_found'],
    ['async-openai', 'model_not_found'],
    ['async-openai/0.43.0', 'model_not_found'],
    ['OpenAI/Python 3.57.0', 404],
    ['OpenAI/JS 7.59.0', 404],
    ['AnthropicClientImpl/Java 2.14.0', 404],
    ['Go-http-client/1.1', 404],
    ['curl/8.5.0', 404],
    ['my async-openai', 404],
  ] as const)
    t.equal(await replyCode(await scene.ask(UNKNOWN, 'chat', { 'user-agent': agent })), expected, agent)
})

t.test('auto: async-openai sends no User-Agent by itself, and what reqwest sends', async (t) => {
  const scene = await start(t)
  const body = JSON.stringify({ model: 'acme/none', messages: [{ role: 'user', content: 'Hello' }] })
  const ask = async (headers: Record<string, string>): Promise<unknown> => {
    const { hostname, port } = new URL(scene.gateway.url)
    const sent = request({
      hostname,
      port,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, ...headers },
    })
    sent.end(body)
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    return object(object(JSON.parse(await text(reply)) as JsonObject).error).code
  }
  t.equal(await ask({ accept: '*/*', 'content-type': 'application/json' }), 'model_not_found')
  t.equal(await ask({ 'content-type': 'application/json' }), 404, 'what says nothing of itself')
})

t.test('a header of the request comes before the key, and the key before the configuration', async (t) => {
  const auto = await start(t)
  const named = { authorization: `Bearer ${NAMED}` }
  t.equal(await replyCode(await auto.ask(UNKNOWN, 'chat', named)), 'model_not_found')
  t.equal(await replyCode(await auto.ask(UNKNOWN, 'chat', { ...named, 'x-router-error-code': 'status' })), 404)
  t.equal(await replyCode(await auto.ask(UNKNOWN, 'chat', { 'x-router-error-code': 'name' })), 'model_not_found')
  t.equal(
    await replyCode(await auto.ask(UNKNOWN, 'chat', { 'x-router-error-code': 'auto', 'user-agent': 'OpenAI/Go 3' })),
    'model_not_found',
  )
  t.equal(await replyCode(await auto.ask(UNKNOWN, 'chat', { 'x-router-error-code': 'constructor' })), 404, 'an unknown word sets nothing')
  const status = await start(t, 'status')
  t.equal(await replyCode(await status.ask(UNKNOWN, 'chat', { 'user-agent': 'OpenAI/Go 3' })), 404)
  const name = await start(t, 'name')
  t.equal(await replyCode(await name.ask(UNKNOWN)), 'model_not_found')
})

t.test('names are those of OpenAI, in every format of OpenAI, in streams and outside of exchanges', async (t) => {
  let status = 429
  const scene = await startScene(t, { yaml: yaml('name'), answer: () => upstreamError(status, 'No') })
  t.equal(await replyCode(await scene.ask()), 'rate_limit_exceeded')
  t.equal(await replyCode(await scene.ask({}, 'responses')), 'rate_limit_exceeded')
  await scene.clock.advance(61_000)
  status = 500
  t.equal(await replyCode(await scene.ask()), 'server_error')
  t.equal(await replyCode(await scene.ask({}, 'chat', { authorization: 'Bearer sk-wrong' })), 'invalid_api_key')
  t.equal(await replyCode(await scene.ask({ temperature: 'hot' })), 'invalid_request')
  t.equal(await replyCode(await scene.gateway.get('/v1/nowhere')), 'not_found')
  const messages = object((await (await scene.ask(UNKNOWN, 'messages')).json()) as JsonObject)
  t.equal(object(messages.error).code, 404, 'Anthropic’s format has no such member: ours stays')
})

t.test('an answer that fails in the middle', async (t) => {
  const scene = await startScene(t, {
    yaml: yaml('name'),
    answer: (seen) => {
      const whole = answerFor(seen, { text: ['half', 'a word'] })
      const text = String(whole.body?.join(''))
      return { ...whole, body: [text.slice(0, text.indexOf('a word'))], after: 'reset' }
    },
  })
  const reply = await scene.ask({ stream: true })
  const frames = (await reply.text()).split('\n\n').filter((frame) => frame.startsWith('data: {'))
  const last = object(JSON.parse((frames.at(-1) ?? '').slice(6)) as JsonObject)
  t.equal(object(last.error).code, 'server_error')
  t.equal(object(list(last.choices)[0]).finish_reason, 'error')
})
