/** Limits of a wire bound a conversation too (docs/contract.md#plugins, context-compression). */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'

const MESSAGES = Array.from({ length: 1102 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `n${i}` }))
const REQUESTS: readonly (readonly [path: string, body: JsonObject])[] = [
  ['/v1/chat/completions', { messages: [{ role: 'system', content: 'rules' }, ...MESSAGES] }],
  ['/v1/responses', { instructions: 'rules', input: MESSAGES }],
  ['/v1/messages', { system: 'rules', max_tokens: 100, messages: MESSAGES }],
]

t.test('1000 messages for this wire: half from each end, in every client dialect', async (t) => {
  const { gateway, upstream } = await startScene(t, { dialect: 'anthropic' })
  await every(t, 'every case', async (t) => {
    for (const [path, body] of REQUESTS)
      for (const stream of [false, true]) {
        const ask = async (more: JsonObject): Promise<{ text: string; sent: JsonObject }> => {
          const response = await gateway.post(path, { model: 'acme/one', stream, ...body, ...more }, { 'x-router-metadata': 'enabled' })
          t.equal(response.status, 200)
          return { text: await response.text(), sent: upstream.requests.at(-1)?.json ?? {} }
        }
        const { text, sent } = await ask({ plugins: [{ id: 'context-compression' }] })
        const messages = sent.messages as JsonObject[]
        t.equal(messages.length, 1000, path)
        t.match(JSON.stringify(messages[499]), '"n499"')
        t.match(JSON.stringify(messages[500]), '"n602"')
        t.match(JSON.stringify(messages.at(-1)), '"n1101"')
        t.match(JSON.stringify(sent.system), 'rules')
        t.match(text, '"type":"context_compression"')
        t.equal(((await ask({})).sent.messages as JsonObject[]).length, 1102, 'not without being asked')
      }
  })
})
