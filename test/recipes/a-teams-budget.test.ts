/** docs/recipes/a-teams-budget.md, followed. */
import t from 'tap'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

const QUESTION = { model: 'openai/gpt-5-mini', max_tokens: 1000, messages: [{ role: 'user', content: 'Hello' }] }

t.test('keys of a team spend one budget together', async (t) => {
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['fine'], usage: { input: 10, output: 1000, cached: 0 } }))
  t.teardown(() => provider.close())
  const { gateway, next, done } = await followRecipe(t, 'a-teams-budget', {
    env: { OPENAI_API_KEY: 'sk-openai', HEADGATE_OPS_KEY: 'sk-ops-0123456789abcdef' },
    with: {
      'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }`,
      // Enough for two answers of 1,000 tokens, and for no third.
      'daily: "50.00"': 'daily: "0.0055"',
    },
  })
  const made = await next()
  const [grace, linus] = [...made.matchAll(/sk-[\w-]{20,}/g)].map(([key]) => key)
  t.ok(grace && linus, made)
  const ask = (key: string) => gateway.post('/v1/chat/completions', QUESTION, { authorization: `Bearer ${key}` })
  t.equal((await ask(gateway.key)).status, 200)
  t.equal((await ask(grace)).status, 200)
  const refused = await ask(linus)
  t.equal(refused.status, 402, 'the third one does not fit, whichever key sends it')
  t.match(await refused.text(), /"scope":"budget"/)
  const shown = await next()
  t.match(shown, /team-a/)
  t.match(shown, /grace/)
  done()
})
