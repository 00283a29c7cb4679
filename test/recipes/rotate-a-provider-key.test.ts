/** docs/recipes/rotate-a-provider-key.md, followed while requests run. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor, upstreamError } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

t.test('the commands of the page lose no request', async (t) => {
  const valid = new Set(['sk-old', 'sk-new'])
  const used: string[] = []
  const provider = await startUpstream((seen) => {
    const key = String(seen.headers.authorization).replace('Bearer ', '')
    used.push(key)
    return valid.has(key) ? answerFor(seen, { text: ['fine'] }) : upstreamError(401)
  })
  t.teardown(() => provider.close())
  const { gateway, next, done } = await followRecipe(t, 'rotate-a-provider-key', {
    watch: true,
    with: { 'preset: openai,': `preset: openai, base_url: "${provider.url}/v1",` },
    prepare: (folder) => writeFileSync(join(folder, 'secrets', 'openai.key'), 'sk-old\n'),
  })
  const statuses: number[] = []
  let isOver = false
  const ask = async (): Promise<void> => {
    while (!isOver) {
      const response = await gateway.post('/v1/chat/completions', {
        model: 'openai/gpt-5-mini',
        messages: [{ role: 'user', content: 'Hello' }],
      })
      await response.text()
      statuses.push(response.status)
    }
  }
  const callers = [ask(), ask(), ask()]
  await eventually('requests with the old key', () => used.includes('sk-old'))
  await next({ NEW_KEY: 'sk-new' })
  await eventually('requests with the new key alone', () => used.length > 10 && used.slice(-10).every((key) => key === 'sk-new'))
  valid.delete('sk-old')
  t.match(await next(), /fine/)
  const before = statuses.length
  await eventually('more requests', () => statuses.length > before + 10)
  isOver = true
  await Promise.all(callers)
  t.same(new Set(statuses), new Set([200]), `${statuses.length} requests`)
  t.equal(new Set(used).size, 2)
  t.ok(gateway.logs.some((line) => line.includes('configuration reloaded')), 'the log says so')
  done()
})
