/** The official SDKs at a listener that speaks TLS. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { startTlsScene } from '../support/tls-scene.ts'

t.test('the official SDKs work with a private authority', async (t) => {
  const { gateway, client } = await startTlsScene(t)
  t.match(gateway.url, /^https:\/\/127\.0\.0\.1:\d+$/)
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, fetch: client(), maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const whole = await openai.chat.completions.create({ model: 'acme/one', messages })
  t.equal(whole.choices[0]?.message.content, 'fine')
  let streamed = ''
  for await (const chunk of await openai.chat.completions.create({ model: 'acme/one', messages, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  t.equal(streamed, 'fine')
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, fetch: client(), maxRetries: 0 })
  const message = await anthropic.messages.create({ model: 'acme/one', max_tokens: 50, messages })
  t.match(message.content, [{ type: 'text', text: 'fine' }])
})
