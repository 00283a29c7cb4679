/**
 * Ollama behind the gateway, over the three formats that it speaks: conversations, turns with a tool, what it refuses, loses and numbers in
 * its own way, and what the gateway finds of its models.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { list, object, parseFrames } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { testConversations } from './conversation-suite.ts'
import { resultFor, WEATHER_TURN } from './conversations.ts'
import { writeBertModel } from './model/bert-model.ts'
import { OLLAMA_CONTEXT, OLLAMA_MODELS, startOllama, tinyChat } from './ollama-server.ts'
import { missing, program, VERSIONS } from './programs.ts'
import { type Life, testReplays, testToolTurns } from './server-life.ts'

t.setTimeout(1_800_000)

const path = program('ollama')
if (path === undefined) t.test('Ollama', { skip: missing('ollama') }, () => {})
else {
  const server = await startOllama(t, path, [tinyChat(), { name: 'tiny-embed', write: (file) => writeBertModel(file, 'embed') }])
  const { url } = server
  const gateway = await startGateway(`
providers:
  chat: { preset: ollama, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true, quirks: { developer: system, unsigned_reasoning: true } }
  messages: { dialect: anthropic, base_url: "${url}", discover: true, quirks: { unsigned_reasoning: true } }
`)
  t.teardown(() => gateway.close())
  const life: Life = { server, gateway, served: 'tiny-chat', models: OLLAMA_MODELS }

  await t.test('what is found of the models', async (t) => {
    const models = await eventually('three lists', async () => {
      const all = list(((await (await gateway.get('/v1/models')).json()) as JsonObject).data)
      return all.filter(({ id }) => String(id).includes('tiny-chat')).length === 3 ? all : undefined
    })
    for (const wire of ['chat', 'responses', 'messages'])
      t.equal(models.find(({ id }) => id === `${wire}/tiny-chat:latest`)?.context_length, OLLAMA_CONTEXT, `${wire}: the model's num_ctx`)
    const embed = { model: 'chat/tiny-embed:latest', input: 'hello' }
    t.equal((await gateway.post('/v1/embeddings', embed)).status, 200, 'a model that can do embeddings alone does them')
    const chat = await gateway.post('/v1/chat/completions', { model: embed.model, messages: [{ role: 'user', content: 'hello' }] })
    t.equal(chat.status, 400, 'and no chat')
  })

  await testConversations(t, { name: 'Ollama', version: VERSIONS.ollama, url, gateway, served: 'tiny-chat', models: OLLAMA_MODELS })
  await testToolTurns(t, life)
  await testReplays(t, life)

  await t.test('an effort is left out at a model that refuses it', async (t) => {
    const body = { model: 'tiny-chat', messages: [{ role: 'user', content: 'hello' }] }
    const own = async (effort: string): Promise<number> => {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ ...body, reasoning_effort: effort }),
      })
      await response.text()
      return response.status
    }
    for (const effort of ['low', 'medium', 'high']) t.equal(await own(effort), 400, `${effort}: the server refuses it`)
    t.equal(await own('none'), 200, 'none is taken')
    for (const client of CLIENTS)
      for (const effort of ['low', 'medium', 'high', 'max']) {
        const asked = { turns: [{ user: [{ text: 'hello' }] }], cap: 2048, effort }
        const response = await gateway.post(client.path, { model: OLLAMA_MODELS['openai-chat'], ...client.write(asked) })
        const text = await response.text()
        t.equal(response.status, 200, `${client.id}, ${effort}: ${text.slice(0, 200)}`)
        t.match(client.fold(JSON.parse(text) as JsonObject).reasoning, 'greeting', `${client.id}, ${effort}: and it thinks`)
      }
  })

  await t.test('developer messages reach the model at /v1/responses', async (t) => {
    const text = 'Be short, and answer in the language of the caller.'
    const input = (role: string): JsonObject[] => [
      { type: 'message', role, content: [{ type: 'input_text', text }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ]
    const tokens = async (response: Response): Promise<unknown> => object(((await response.json()) as JsonObject).usage).input_tokens
    const own = (role: string) =>
      fetch(`${url}/v1/responses`, {
        method: 'POST',
        body: JSON.stringify({ model: 'tiny-chat', input: input(role), max_output_tokens: 4 }),
      })
    const [system, developer] = [await tokens(await own('system')), await tokens(await own('developer'))]
    t.ok(Number(developer) < Number(system), `the server loses them: ${developer} of ${system} tokens`)
    const sent = await gateway.post('/v1/responses', {
      model: OLLAMA_MODELS['openai-responses'],
      input: input('developer'),
      max_output_tokens: 4,
    })
    t.equal(await tokens(sent), system, 'as many tokens as a system message has')
  })

  await t.test('a streamed thought and call of /v1/messages are blocks in order, signed with nothing, and taken back', async (t) => {
    const messages = CLIENTS.find(({ id }) => id === 'messages')
    const body = { ...messages?.write(WEATHER_TURN), stream: true }
    const events = (text: string): JsonObject[] => parseFrames(text).map(({ data }) => JSON.parse(data) as JsonObject)
    const starts = (all: JsonObject[]) => all.filter(({ type }) => type === 'content_block_start').map(({ index }) => index)
    const own = await fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify({ model: 'tiny-chat', ...body }) })
    t.same(starts(events(await own.text())), [0, 0], "the server's own numbers")
    const response = await gateway.post('/v1/messages', { model: OLLAMA_MODELS.anthropic, ...body })
    const all = events(await response.text())
    t.same(starts(all), [0, 1], 'those of the gateway')
    t.same(
      all.filter(({ type }) => /^content_block_st/.test(String(type))).map(({ type, index }) => `${type} ${index}`),
      ['content_block_start 0', 'content_block_stop 0', 'content_block_start 1', 'content_block_stop 1'],
      'each ends before the next one starts',
    )
    const content: JsonObject[] = all.filter(({ type }) => type === 'content_block_start').map((event) => object(event.content_block))
    const deltas = all.filter(({ type }) => type === 'content_block_delta').map((event) => ({ index: event.index, ...object(event.delta) }))
    const joined = (index: number, member: string): string =>
      deltas.flatMap((delta: JsonObject) => (delta.index === index && typeof delta[member] === 'string' ? [delta[member]] : [])).join('')
    const [thought, call] = content
    t.match(thought, { type: 'thinking', signature: '' }, 'a signature that is empty')
    const replayed = {
      content: [
        { ...thought, thinking: joined(0, 'thinking') },
        { ...call, input: JSON.parse(joined(1, 'partial_json')) },
      ],
    }
    t.match(replayed.content[1], { name: 'get_weather', input: { city: 'Oslo' } })
    const next = {
      ...WEATHER_TURN,
      turns: [...WEATHER_TURN.turns, { replayed: replayed as unknown as JsonObject }, resultFor(String(call?.id))],
    }
    const second = await gateway.post('/v1/messages', { model: OLLAMA_MODELS.anthropic, ...messages?.write(next) })
    t.match(await second.text(), 'It is seven degrees there.')
  })
}
