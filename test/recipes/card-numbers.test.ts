/** docs/recipes/card-numbers.md, followed. */
import t from 'tap'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

const NUMBER = '4111 1111 1111 1111'

t.test('the provider has the placeholder, the caller the number', async (t) => {
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['It is [CREDIT_', 'CARD_1].'] }))
  t.teardown(() => provider.close())
  const { gateway, next, done } = await followRecipe(t, 'card-numbers', {
    env: { OPENAI_API_KEY: 'sk-openai' },
    with: { 'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }` },
  })
  const out = await next()
  t.match(out, `It is ${NUMBER}.`)
  t.match(out, '"pipeline":[{"type":"guardrail"')
  const streamed = await gateway.post('/v1/messages', {
    model: 'openai/gpt-5-mini',
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: `Repeat this number: ${NUMBER}` }],
  })
  const text = [...(await streamed.text()).matchAll(/"text":"([^"]*)"/g)].map(([, part]) => part).join('')
  t.equal(text, `It is ${NUMBER}.`, 'streamed, in another format')
  t.equal(provider.requests.length, 2)
  for (const { body } of provider.requests) {
    t.match(body, '[CREDIT_CARD_1]')
    t.notMatch(body, /4111/)
  }
  t.notMatch(gateway.logs.join('\n'), /4111/)
  t.notMatch(JSON.stringify([...gateway.running.store.journal.export()]), /4111/)
  done()
})
