/** docs/recipes/what-a-request-cost.md, followed. */
import t from 'tap'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

t.test('the commands of the page show the money line by line', async (t) => {
  const usage = { input: 10, output: 5, cached: 4 }
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['fine'], usage }))
  t.teardown(() => provider.close())
  const { next, done } = await followRecipe(t, 'what-a-request-cost', {
    env: { OPENAI_API_KEY: 'sk-openai' },
    with: { 'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }` },
  })
  const shown = await next()
  // 6 tokens at 0.25 USD a million, 4 at 0.025, 5 at 2.00.
  for (const part of ['0.0000015', '0.0000001', '0.00001', '0.0000116']) t.match(shown, part)
  t.match(shown, /ok|adds up|verified/)
  done()
})
