/** docs/recipes/two-vllm-replicas.md, followed. */
import t from 'tap'
import { Gate, sseAnswer, startUpstream } from '../support/upstream.ts'
import { framesFor, says } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

interface PlanShown {
  candidates: { endpoint: string; why: { by: string; value: number } }[]
}

t.test('the commands of the page, while the servers are used', async (t) => {
  const a = await startUpstream(says({ text: ['of a'] }))
  const b = await startUpstream(says({ text: ['of b'] }))
  t.teardown(() => Promise.all([a.close(), b.close()]))
  const { gateway, next, done } = await followRecipe(t, 'two-vllm-replicas', {
    with: { 'http://10.0.0.11:8000': a.url, 'http://10.0.0.12:8000': b.url },
  })
  let asked = 0
  const ask = async (): Promise<string> => {
    const messages = [{ role: 'user', content: `Hello ${asked++}` }]
    const response = await gateway.post('/v1/chat/completions', { model: 'qwen/qwen3-coder', messages })
    return /of ([ab])/.exec(await response.text())?.[1] ?? `${response.status}`
  }
  const times = async (count: number): Promise<Set<string>> => {
    const served = new Set<string>()
    for (let i = 0; i < count; i++) served.add(await ask())
    return served
  }
  const checked = await next()
  t.match(checked, /headgate\.yaml: ok/)
  t.match(JSON.parse(checked.slice(checked.indexOf('\n{') + 1)) as PlanShown, {
    candidates: [{ why: { by: 'least_busy', value: 0 } }, { why: { by: 'least_busy', value: 0 } }],
  })
  t.same(await times(30), new Set(['a', 'b']))
  // A long answer runs at a: everything else goes to b.
  const gate = new Gate()
  const [head, ...rest] = framesFor('/v1/chat/completions', { text: ['long'] })
  const begun = new Promise<void>((resolve) => {
    a.script = () => {
      resolve()
      return sseAnswer([head, gate.step, ...rest])
    }
  })
  const long = gateway.post('/v1/chat/completions', {
    model: 'qwen/qwen3-coder',
    stream: true,
    provider: { only: ['vllm-a'] },
    messages: [{ role: 'user', content: 'Hello' }],
  })
  await begun
  a.script = says({ text: ['of a'] })
  t.same(await times(20), new Set(['b']))
  await next()
  await gateway.running.reload()
  const running = JSON.parse(await next()) as PlanShown
  t.match(running.candidates, [{ endpoint: 'vllm-a', why: { value: 1 } }])
  gate.open()
  await (await long).text()
  t.same(await times(20), new Set(['b']), 'a is drained')
  t.match(await next(), /of a/, 'but serves who names it')
  await next()
  await gateway.running.reload()
  t.same(await times(30), new Set(['a', 'b']), 'and is back')
  done()
})
