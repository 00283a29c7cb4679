/** Another brand word: no byte of a reply names the usual one, in any client format. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const WORD = 'acme'
const { gateway } = await startScene(t, {
  answer: (seen) => {
    const told = JSON.stringify(seen.json)
    const offered = /"(acme_datetime)"/.exec(told)
    const ran = /tool_result|"role":"tool"|function_call_output|functionResponse/.test(told)
    if (offered && !ran) return answerFor(seen, { calls: [{ id: 'call_1', name: offered[1], args: ['{}'] }] })
    return answerFor(seen, { text: ['It is late'] })
  },
  config: (url) => `
brand: { word: ${WORD} }
auth: { keys: [ { name: app, key: sk-acme-0123456789abcdef } ] }
providers:
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  anthropic: { dialect: anthropic, base_url: "${url}", key: sk-up }
models:
  m/chat: { endpoints: [ { provider: chat, model: m, price: free } ] }
  m/anthropic: { endpoints: [ { provider: anthropic, model: m, price: free } ] }
`,
})

const tools = [{ type: `${WORD}:datetime` }]
const QUESTIONS: Readonly<Record<string, JsonObject>> = {
  '/v1/responses': { input: 'How late is it?', tools },
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'How late is it?' }], tools },
  '/v1/messages': { max_tokens: 100, messages: [{ role: 'user', content: 'How late is it?' }], tools },
}

for (const [path, question] of Object.entries(QUESTIONS)) {
  t.test(path, async (t) => {
    await every(t, 'every model', async (t) => {
      for (const model of ['m/chat', 'm/anthropic']) {
        for (const stream of [false, true]) {
          const reply = await gateway.post(path, { model, stream, ...question }, { 'x-acme-metadata': 'enabled' })
          const bytes = await reply.text()
          t.equal(reply.status, 200, bytes)
          t.match(bytes, /"acme_metadata":\{/)
          t.match(bytes, /acme[:_]datetime/)
          t.match(bytes, /It is late/)
          t.notMatch(bytes, /router/i)
          t.notMatch(JSON.stringify([...reply.headers]), /router/i)
          const old = await gateway.post(path, { model, stream, ...question }, { 'x-router-metadata': 'enabled' })
          t.notMatch(await old.text(), /_metadata"/, 'the usual word means nothing here')
        }
      }
    })
    const wrong = await gateway.post(path, { model: 'm/nobody', ...question }, { 'x-acme-metadata': 'enabled' })
    t.equal(wrong.status, 404)
    t.notMatch(await wrong.text(), /router/i)
  })
}
