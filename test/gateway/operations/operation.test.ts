/** A running gateway from the operator's side: reload, health, metrics, drain. */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { adminFetch } from '../../support/admin.ts'
import { every } from '../../support/every.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { framesFor, says } from '../../support/wire.ts'

const KEY = 'sk-router-v1-operation000000'
const OTHER = 'sk-router-v1-operation111111'
const keys = (...list: string[]): string =>
  `auth: { keys: [ ${list.map((key, index) => `{ name: k${index}, key: "${key}" }`).join(', ')} ] }\n`
const question = { model: 'acme/one', input: 'Hello' }

t.test('a reload holds for new requests, open streams go on, and a bad file keeps the old one', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream((seen) => {
    const frames = framesFor(seen.path, { text: ['one', 'two'] })
    const cut = frames.findIndex((frame) => frame.includes('"two"'))
    return seen.json.stream === true
      ? sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
      : says({ text: ['whole'] })(seen, 0)
  })
  const model = oneModel(upstream.url, 'openai-responses')
  const gateway = await startGateway(`${keys(KEY)}${model}`, { directory: t.testdir() })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const other = { authorization: `Bearer ${OTHER}` }
  t.equal((await gateway.post('/v1/responses', question, other)).status, 401)
  const live = await gateway.post('/v1/responses', { ...question, stream: true })
  t.equal(live.status, 200)

  t.match(await gateway.reconfigure(`${keys(OTHER)}${model}`), { kind: 'applied' })
  t.equal((await gateway.post('/v1/responses', question)).status, 401, 'the removed key')
  t.equal((await gateway.post('/v1/responses', question, other)).status, 200, 'the new key')
  gate.open()
  t.match(await live.text(), /"delta":"two"[\s\S]*response\.completed/, 'the open stream finishes')

  t.match(await gateway.reconfigure(`${keys(KEY)}${model}\nunknown_key: 1\n`), { kind: 'failed' })
  t.equal((await gateway.post('/v1/responses', question, other)).status, 200, 'a bad file keeps the old one')
  t.equal((await gateway.post('/v1/responses', question)).status, 401)
  t.match(gateway.logs.join('\n'), /unknown_key/, 'the error is logged')
  t.equal((await fetch(`${gateway.admin}/readyz`)).status, 200, 'and the process stays ready')
  t.match(await gateway.reconfigure(`${keys(KEY)}${model}`.replace('1.00', '3.00')), { kind: 'applied' })
  const priced = (await (await gateway.post('/v1/responses', question)).json()) as { usage: { cost: number } }
  t.equal(priced.usage.cost, 0.000047, 'new prices hold for new requests')
})

t.test('health, readiness and metrics', async (t) => {
  const { gateway } = await startScene(t, { answer: says({ text: ['ok'] }), yaml: keys(KEY), clock: systemClock })
  for (const path of ['/v1/responses', '/v1/chat/completions'])
    await (
      await gateway.post(path, {
        model: 'acme/one',
        input: 'secret words',
        messages: [{ role: 'user', content: 'secret words' }],
        user: 'someone',
      })
    ).text()
  t.equal((await fetch(`${gateway.admin}/healthz`)).status, 200)
  t.equal((await fetch(`${gateway.admin}/readyz`)).status, 200)
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  await every(t, 'every word', async (t) => {
    for (const word of ['requests', 'attempts', 'tokens', 'cost', 'streams', 'event_loop', 'first_event', 'added'])
      t.match(metrics, new RegExp(`^headgate_\\w*${word}\\w*(\\{| )`, 'm'), word)
  })
  t.match(metrics, /lane="pass"/)
  t.notMatch(metrics, /secret words|someone|sk-router|provider-secret/, 'no key and no user’s words')
  t.notMatch(gateway.logs.join('\n'), /secret words|sk-router|someone/, 'nor in the log')
  t.equal((await adminFetch(`${gateway.admin}/nothing`)).status, 404)
  t.equal((await fetch(`${gateway.url}/metrics`)).status, 404, 'not on the public port')
})

t.test('drain: readiness red at once, open streams finish', async (t) => {
  const gate = new Gate()
  const { gateway } = await startScene(t, {
    answer: (seen) => {
      const frames = framesFor(seen.path, { text: ['one', 'two'] })
      const cut = frames.findIndex((frame) => frame.includes('two'))
      return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
    },
    yaml: keys(KEY),
  })
  const live = await gateway.post('/v1/responses', { ...question, stream: true })
  const drained = gateway.running.drain.begin()
  t.equal((await fetch(`${gateway.admin}/readyz`)).status, 503)
  t.equal((await fetch(`${gateway.admin}/healthz`)).status, 200)
  await t.rejects(gateway.post('/v1/responses', question), 'nothing new is accepted')
  gate.open()
  t.match(await live.text(), /response\.completed/)
  t.match(await drained, { cut: 0 })
})
