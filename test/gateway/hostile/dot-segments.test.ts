/** A name behind a wildcard that would lead to another path of the provider's host is no model, whatever wire the provider speaks. */
import t from 'tap'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'

t.test('dot segments of a wildcard model never reach a provider', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => {
      const wildcard = (provider: string, more = ''): string =>
        `  "${provider}/*": { ${more}endpoints: [ { provider: ${provider}, model: "*", price: { prompt: "1.00"${more === '' ? ', completion: "1.00"' : ''} } } ] }`
      return `
providers:
  gem: { dialect: gemini, base_url: "${url}/v1beta", key: k }
  vec: { dialect: gemini, base_url: "${url}/v1beta", key: k }
  rock: { dialect: bedrock-converse, base_url: "${url}", key: k }
  path: { dialect: openai-chat, base_url: "${url}", key: k, path: "/deployments/{model}/chat/completions" }
  claude: { dialect: anthropic, base_url: "${url}", key: k, path: "/models/{model}/messages" }
models:
${[wildcard('gem'), wildcard('vec', 'kind: embedding, '), wildcard('rock'), wildcard('path'), wildcard('claude')].join('\n')}
`
    },
  })
  const tails = ['..', '.', '../x', './x', 'a/../b', 'a/..', 'models/../../v1/y', 'projects/p/../q', '..\\x', 'a/./b']
  const ask = (model: string): Promise<Response> =>
    model.startsWith('vec/')
      ? gateway.post('/v1/embeddings', { model, input: 'x' })
      : gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] })
  await every(t, 'every wire', async (t) => {
    for (const author of ['gem', 'vec', 'rock', 'path', 'claude'])
      for (const tail of tails) {
        const reply = await ask(`${author}/${tail}`)
        t.ok(reply.status === 400 || reply.status === 404, `${author}/${tail}: ${reply.status}`)
        await reply.text()
      }
  })
  t.equal(upstream.requests.length, 0, 'no provider is called')
  for (const model of ['gem/gemini-2.5..pro', 'gem/tunedModels/..x', 'path/gpt-4.1', 'rock/eu..x']) await (await ask(model)).text()
  t.equal(upstream.requests.length, 4, 'dots within a name are names')
})
