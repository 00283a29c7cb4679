/** Bytes that nothing requested: connections to that provider are closed, and for a while none serves two requests. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { type RawUpstream, rawJson, startRawUpstream } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const REPLY = rawJson(chatReply({ text: ['fine'] }))
const FOREIGN = rawJson(chatReply({ text: ['meant for someone else'] }))
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }

async function stage(
  t: Test,
  answer: RawUpstream['answer'],
  provider = '',
): Promise<{ gateway: Gateway; upstream: RawUpstream; ask(): Promise<string> }> {
  const upstream = await startRawUpstream(answer)
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat', { provider }))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, upstream, ask: async () => (await gateway.post('/v1/chat/completions', QUESTION)).text() }
}

const warned = ({ logs }: Gateway): boolean =>
  logs.some((line) => (JSON.parse(line) as JsonObject).msg === 'a provider sent bytes that nothing requested')

async function metrics({ admin }: Gateway): Promise<string> {
  return (await fetch(`${admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
}

for (const [name, late] of [
  ['in one piece with the reply', false],
  ['while the connection is idle', true],
] as const)
  t.test(`a reply that comes twice, ${name}`, async (t) => {
    let twice = true
    const { gateway, upstream, ask } = await stage(t, (_request, socket) => {
      if (!twice) return REPLY
      twice = false
      if (!late) return REPLY + FOREIGN
      setTimeout(() => socket.write(FOREIGN), 50)
      return REPLY
    })
    t.match(await ask(), /fine/)
    await eventually('the operator learns of it', () => warned(gateway))
    for (let i = 0; i < 5; i++) t.match(await ask(), /fine/)
    t.equal(upstream.accepted, 6, 'each request has a connection of its own')
    t.match(await metrics(gateway), /headgate_upstream_surplus_total 1/)
  })

t.test('a provider that sends a reply twice at any time serves none to another caller once it is known', async (t) => {
  let count = 0
  const { gateway, upstream, ask } = await stage(t, ({ body }, socket) => {
    const reply = rawJson(chatReply({ text: [`number ${(JSON.parse(body) as { messages: [{ content: string }] }).messages[0].content}`] }))
    if (count++ % 3 === 0) setTimeout(() => socket.write(reply), 2)
    return reply
  })
  await ask()
  await eventually('it is known', () => warned(gateway))
  for (let i = 0; i < 30; i++) {
    const reply = await gateway.post('/v1/chat/completions', { ...QUESTION, messages: [{ role: 'user', content: `${i}` }] })
    t.match(await reply.text(), `number ${i}`)
  }
  t.ok(upstream.accepted >= 31)
})

t.test('a 408 that a provider sends before it closes an idle connection is no surplus reply', async (t) => {
  let farewell = true
  const { gateway, upstream, ask } = await stage(t, (_request, socket) => {
    if (farewell) setTimeout(() => socket.end('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'), 30)
    farewell = false
    return REPLY
  })
  t.match(await ask(), /fine/)
  await eventually('it is closed', () => upstream.sockets.size === 0)
  for (let i = 0; i < 3; i++) t.match(await ask(), /fine/)
  t.equal(upstream.accepted, 2)
  t.notOk(warned(gateway))
})

t.test('a connection of the greatest age takes no request any more', async (t) => {
  const { upstream, ask } = await stage(t, () => REPLY, 'connection: { max_age: 300ms }')
  const began = performance.now()
  let calls = 0
  await eventually('a second connection is made', async () => {
    calls++
    await ask()
    return upstream.accepted >= 2
  })
  t.ok(calls > 2, `after ${calls} calls`)
  t.ok(performance.now() - began >= 300)
})
