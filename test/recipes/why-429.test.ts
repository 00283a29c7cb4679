/** docs/recipes/why-429.md, followed. */
import t from 'tap'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

t.test('the commands of the page find the refusal, its limit and its key', async (t) => {
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => provider.close())
  const { next, done } = await followRecipe(t, 'why-429', {
    env: { OPENAI_API_KEY: 'sk-openai', HEADGATE_OPS_KEY: 'sk-ops-0123456789abcdef' },
    with: { 'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }` },
  })
  const replies = (await next()).trim().split('\n')
  t.match(JSON.parse(replies[4]), { error: { code: 429, message: /requests/ } })
  for (const reply of replies.slice(0, 3)) t.match(reply, /^200 gen-/)
  t.match(replies[3], /^429 gen-/)
  const [, id] = replies[3].split(' ')
  const found = await next()
  t.match(found, id)
  t.match(found, /app.*rate_limited|rate_limited.*app/)
  t.match(await next(), /openai/)
  const ofKey = await next()
  t.match(ofKey, /rate_limited/)
  t.match(ofKey, /\$5/)
  done()
})
