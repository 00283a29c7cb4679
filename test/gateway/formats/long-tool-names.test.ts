/** Names of tools that providers refuse: of 65 to 128 characters at OpenAI, and those that begin with a digit or a dash at Google. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { foldChat, foldChatStream, list, object } from '../../support/fold.ts'
import { foldMessage, foldMessageStream } from '../../support/fold-messages.ts'
import { startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const LONG = `mcp__${'server_'.repeat(16)}search`
const ALIKE = `mcp__${'server_'.repeat(16)}delete`

const functionsIn = (body: JsonObject): JsonObject[] => list(body.tools).map((tool) => object(tool.function ?? tool))
const namesIn = (body: JsonObject): string[] => functionsIn(body).map(({ name }) => String(name))

/** Calls the second tool; refuses names that OpenAI refuses ("string_above_max_length"). */
function answer(seen: Seen) {
  const names = namesIn(seen.json)
  if (names.some((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)))
    return jsonAnswer({ error: { message: 'string too long', type: 'invalid_request_error', code: 'string_above_max_length' } }, 400)
  return answerFor(seen, { calls: [{ id: 'call_1', name: names[1], args: ['{"x":', '1}'] }] })
}
const DIALECTS = ['openai-chat', 'openai-responses']
const { gateway, upstream } = await startScene(t, {
  answer,
  config: (url) => `
providers:
${DIALECTS.map((dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}/v1", key: k }`).join('\n')}
models:
${DIALECTS.map((dialect) => `  m/${dialect}: { endpoints: [ { provider: ${dialect}, model: up, price: free } ] }`).join('\n')}
`,
})

const tool = (name: string): JsonObject => ({ name, input_schema: { type: 'object', properties: { x: { type: 'number' } } } })
const user = { role: 'user', content: 'Hello' }

for (const dialect of DIALECTS)
  for (const stream of [false, true])
    await every(t, `${dialect}${stream ? ', streamed' : ''}`, async (t) => {
      const ask = async (messages: JsonObject[]) => {
        const response = await gateway.post('/v1/messages', {
          model: `m/${dialect}`,
          max_tokens: 100,
          tools: [tool(LONG), tool(ALIKE), tool('short')],
          tool_choice: { type: 'tool', name: ALIKE },
          messages,
          stream,
        })
        const text = await response.text()
        return stream ? foldMessageStream(text) : foldMessage(JSON.parse(text) as JsonObject)
      }
      const first = await ask([user])
      t.match(first.calls, [{ name: ALIKE, args: '{"x":1}' }], 'the caller has its own name back')
      const sent = upstream.requests.at(-1)?.json ?? {}
      const [long, alike, short] = namesIn(sent)
      t.equal(new Set([long, alike, short]).size, 3)
      t.equal(short, 'short')
      t.equal(long.length, 64)
      t.match(JSON.stringify(sent.tool_choice), alike)
      await ask([
        user,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: ALIKE, input: { x: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'ok' }] },
      ])
      const later = upstream.requests.at(-1)?.json ?? {}
      t.same(namesIn(later), [long, alike, short], 'a later turn sends the same names')
      t.notMatch(JSON.stringify(later), ALIKE)
      t.match(JSON.stringify(later.messages ?? later.input), alike)
    })

t.test('Gemini: names begin with a letter or an underscore (types of @google/genai 3.3.0, FunctionDeclaration.name)', async (t) => {
  const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/
  const google = await startUpstream((seen) => {
    const names = list(seen.json.tools).flatMap(({ functionDeclarations: all }) => list(all).map(({ name }) => String(name)))
    const wrong = names.find((name) => !NAME.test(name))
    if (wrong !== undefined) return jsonAnswer({ error: { code: 400, message: 'Invalid function name.', status: 'INVALID_ARGUMENT' } }, 400)
    return answerFor(seen, { calls: [{ id: 'call_1', name: names[0], args: ['{}'] }] })
  })
  const own = await startGateway(`
providers:
  google: { dialect: gemini, base_url: "${google.url}/v1beta", key: k }
models:
  m/gemini: { endpoints: [ { provider: google, model: up, price: free } ] }
`)
  const declared = (body: JsonObject): string[] =>
    list(body.tools).flatMap(({ functionDeclarations: all }) => list(all).map(({ name }) => String(name)))
  for (const name of ['3d_render', '-x', `9${'a'.repeat(63)}`])
    for (const stream of [false, true])
      await every(t, `${name.slice(0, 12)}${stream ? ', streamed' : ''}`, async (t) => {
        const turns = [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: { name, arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'call_0', content: 'ok' },
        ]
        const fn = (own: string): JsonObject => ({
          type: 'function',
          function: { name: own, parameters: { type: 'object', properties: {} } },
        })
        const choices: JsonObject[] = [
          { type: 'function', function: { name } },
          { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name } }] } },
        ]
        for (const choice of choices) {
          const body = { model: 'm/gemini', messages: turns, tools: [fn(name), fn('_x')], tool_choice: choice, stream }
          const text = await (await own.post('/v1/chat/completions', body)).text()
          const reply = stream ? foldChatStream(text) : foldChat(JSON.parse(text) as JsonObject)
          t.match(reply.calls, [{ name }], 'the caller has its own name back')
          const sent = google.requests.at(-1)?.json ?? {}
          const [short] = declared(sent)
          t.match(short, NAME)
          t.not(short, '_x', 'it is not the name of another tool')
          t.same(
            list(sent.contents).flatMap(({ parts }) => list(parts).flatMap((part) => object(part.functionResponse).name ?? [])),
            [short],
          )
        }
      })
  const counted = { model: 'm/gemini', messages: [{ role: 'user', content: 'Hello' }], tools: [tool('3d_render')] }
  t.equal((await own.post('/v1/messages/count_tokens', counted)).status, 200)
  t.match(google.requests.at(-1)?.path, /:countTokens$/)
  const request = object(google.requests.at(-1)?.json.generateContentRequest)
  t.match(declared(request)[0], NAME, 'a count has the same names')
  await own.close()
  await google.close()
})
