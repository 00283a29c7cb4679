/**
 * llama.cpp's server behind the gateway beyond single replies: two turns with a tool, callers that leave, more requests than slots,
 * a server that is killed and comes back, and what the gateway finds of its models.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { clientOf } from '../recordings/callers.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { resultFor, WEATHER_TURN } from './conversations.ts'
import { NOT_INSTALLED, startLlama } from './llama-server.ts'
import { writeChatModel } from './model/chat-model.ts'
import { directReply, expectedOf, found, MODELS, WIRES } from './same-reply.ts'

const configuration = (url: string): string => `
providers:
  chat: { preset: llama-cpp, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true, quirks: { unsigned_reasoning: true } }
  messages: { dialect: anthropic, base_url: "${url}", discover: true, quirks: { unsigned_reasoning: true } }
`

t.setTimeout(280_000)

/** Width at which the model writes some hundred tokens a second. */
const SLOW = 40_000
const FOREVER = { messages: [{ role: 'user', content: 'forever' }], max_tokens: 3000 }

if (NOT_INSTALLED !== undefined) t.test('llama.cpp', { skip: NOT_INSTALLED }, () => {})
else {
  await t.test('two turns with a tool', async (t) => {
    const server = await startLlama(t, writeChatModel, ['n_parallel=2', 'n_ctx=8192', 'model_alias=tiny-chat'])
    const gateway = await startGateway(configuration(server.url))
    t.teardown(() => gateway.close())
    for (const wire of WIRES) {
      const own = clientOf(wire)
      const first = await directReply(server.url, wire, WEATHER_TURN)
      const call = own?.fold(first).calls[0]
      const second = { ...WEATHER_TURN, turns: [...WEATHER_TURN.turns, { replayed: first }, resultFor(call?.callId ?? '')] }
      const expected = expectedOf(wire, await directReply(server.url, wire, second))
      for (const client of CLIENTS) {
        const reply = await gateway.post(client.path, { model: MODELS[wire], ...client.write(WEATHER_TURN) })
        const replayed = (await reply.json()) as JsonObject
        const { callId = '' } = client.fold(replayed).calls[0] ?? {}
        const turns = { ...WEATHER_TURN, turns: [...WEATHER_TURN.turns, { replayed }, resultFor(callId)] }
        const differs = await found(gateway, { client, wire, model: MODELS[wire], stream: false, body: client.write(turns) }, expected)
        t.same(differs, [], `${wire}, ${client.id}`)
      }
    }
  })

  await t.test('what is found of the models', async (t) => {
    const server = await startLlama(t, writeChatModel, ['n_parallel=2', 'n_ctx=8192'])
    const gateway = await startGateway(configuration(server.url))
    t.teardown(() => gateway.close())
    const models = await eventually('three lists', async () => {
      const all = list(((await (await gateway.get('/v1/models')).json()) as JsonObject).data)
      return all.length === 3 ? all : undefined
    })
    for (const { id, context_length } of models) {
      t.match(id, /^(chat|responses|messages)\/tmp\/headgate-llama-[^/]+\/model\.gguf$/, 'a model without an alias is called by its path')
      t.equal(context_length, 4096, 'the context of one slot')
    }
    const model = String(models[0].id)
    const answer = await gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 32_000 })
    t.equal(answer.status, 200, 'with the cap of an agent')
  })

  await t.test('callers that leave, more requests than slots, a server that is killed', async (t) => {
    const server = await startLlama(t, (path) => writeChatModel(path, SLOW), ['n_parallel=2', 'n_ctx=8192', 'model_alias=tiny-chat'])
    const gateway = await startGateway(configuration(server.url))
    t.teardown(() => gateway.close())
    const model = MODELS['openai-chat']
    const busy = async (): Promise<number> => {
      const slots = (await (await fetch(`${server.url}/slots`)).json()) as JsonObject[]
      return slots.filter((slot) => slot.is_processing === true).length
    }
    await eventually('the list', async () => (await gateway.get(`/v1/models/${model}`)).status === 200)
    for (const stream of [true, false]) {
      const leaving = new AbortController()
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` }
      const body = JSON.stringify({ model, stream, ...FOREVER })
      const reply = fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal })
      reply.catch(() => undefined)
      await eventually('the server works', async () => (await busy()) === 1)
      leaving.abort()
      await eventually('the server stops', async () => (await busy()) === 0)
    }
    t.pass('the work of a caller that leaves is stopped')

    const several = await Promise.all(
      Array.from({ length: 8 }, async (_, at) => {
        const response = await gateway.post('/v1/chat/completions', { model, stream: at % 2 === 0, ...FOREVER, max_tokens: 40 })
        return { status: response.status, text: await response.text() }
      }),
    )
    t.ok(
      several.every(({ status, text }) => status === 200 && text.includes('length') && !text.includes('"error":{')),
      'eight requests at two slots are all served',
    )

    const ask = () => gateway.post('/v1/responses', { model: MODELS['openai-responses'], input: 'hello' })
    const running = gateway.post('/v1/chat/completions', { model, stream: true, ...FOREVER })
    await eventually('the server works', async () => (await busy()) === 1)
    await server.kill()
    const cut = await (await running).text()
    t.match(
      object(
        JSON.parse(
          cut
            .trim()
            .split('\n')
            .at(-1)
            ?.replace(/^data: /, '') ?? '{}',
        ),
      ),
      { error: {} },
      'the caller reads that it is cut',
    )
    t.equal((await ask()).status, 502, 'while it is away')
    await server.start()
    await eventually('it serves again', async () => (await ask()).status === 200)
  })
}
