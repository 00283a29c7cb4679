/** docs/recipes/azure-then-openai.md, followed. */
import t, { type Test } from 'tap'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { says, upstreamError } from '../support/wire.ts'
import { followRecipe, type Recipe } from './recipe.ts'

interface Scene extends Recipe {
  azure: Upstream
  openai: Upstream
}

async function follow(t: Test): Promise<Scene> {
  const azure = await startUpstream(says({ text: ['of azure'] }))
  const openai = await startUpstream(says({ text: ['of openai'] }))
  t.teardown(() => Promise.all([azure.close(), openai.close()]))
  const recipe = await followRecipe(t, 'azure-then-openai', {
    env: { AZURE_OPENAI_RESOURCE: 'example', AZURE_OPENAI_API_KEY: 'azure-key', OPENAI_API_KEY: 'sk-openai' },
    with: {
      'preset: azure-openai }': `preset: azure-openai, base_url: "${azure.url}/openai/v1" }`,
      'preset: openai }': `preset: openai, base_url: "${openai.url}/v1" }`,
    },
  })
  return { ...recipe, azure, openai }
}

const QUESTION = { model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }

t.test('the commands of the page', async (t) => {
  const { next, done, azure, openai } = await follow(t)
  const plan = await next()
  t.match(plan, /headgate\.yaml: ok/)
  t.match(plan, /1 +azure .*named by order[\s\S]*2 +openai .*named by order/)
  const reply = JSON.parse(await next()) as { router_metadata: { attempts: { status: number }[] } }
  t.match(reply.router_metadata.attempts, [{ status: 200 }])
  t.equal(azure.requests[0].headers['api-key'], 'azure-key')
  t.equal(azure.requests[0].json.model, 'my-deployment')
  t.equal(openai.requests.length, 0)
  done()
})

t.test('what goes on to OpenAI, and what does not', async (t) => {
  for (const status of [500, 503, 429, 401, 403, 404]) {
    const { gateway, azure, openai } = await follow(t)
    azure.script = () => upstreamError(status)
    const response = await gateway.post('/v1/chat/completions', QUESTION)
    t.equal(response.status, 200, `${status} at Azure`)
    t.match(await response.text(), /of openai/)
    t.equal(openai.requests[0].json.model, 'gpt-5-mini')
  }
  for (const status of [400, 422]) {
    const { gateway, azure, openai } = await follow(t)
    azure.script = () => upstreamError(status)
    t.equal((await gateway.post('/v1/chat/completions', QUESTION)).status, status, `${status} at Azure`)
    t.equal(openai.requests.length, 0)
  }
})
