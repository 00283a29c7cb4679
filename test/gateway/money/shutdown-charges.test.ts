/** Charges after a shutdown: replies that it cuts, and callers that had left before. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import type { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import type { Gateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const KEY = 'sk-router-v1-0123456789abcdef'

interface Streaming {
  clock: FakeClock
  gateway: Gateway
  leave(): void
  rows(): GenerationRecord[]
}

/** One stream whose first word has been read. */
async function streaming(t: Test): Promise<Streaming> {
  const store = `store: { url: "sqlite:${join(t.testdir(), 'headgate.db')}" }\nauth: { keys: [ { name: app, key: "${KEY}" } ] }\n`
  const { clock, gateway } = await startScene(t, {
    answer: (seen) => {
      const frames = framesFor(seen.path, { text: ['one ', 'two'] })
      return sseAnswer(frames.slice(0, 2), { after: 'stall' })
    },
    yaml: store,
  })
  const aborter = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
    signal: aborter.signal,
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  for (let text = ''; !text.includes('one '); ) text += Buffer.from((await reader.read()).value ?? []).toString()
  reader.closed.catch(() => undefined)
  return { clock, gateway, leave: () => aborter.abort(), rows: () => [...gateway.running.store.journal.export()] }
}

const settledReason = async (gateway: Gateway, id: string): Promise<unknown> =>
  ((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: { charge_reason: unknown } }).data.charge_reason

t.test('a reply that the shutdown cuts is charged at once, in the operator’s row', async (t) => {
  const { clock, gateway, rows } = await streaming(t)
  const drained = gateway.running.drain.begin()
  gateway.running.drain.hurry()
  await eventually('the settlement', () => rows()[0].settled)
  t.notOk(clock.waiting.includes(READ_ON), 'nobody is read on')
  t.equal((await drained).cut, 1)
  const [{ id, settled }] = rows()
  t.match(settled, { status: 'aborted', estimated: true })
  t.ok(Number(settled?.cost) > 0)
  await gateway.restart()
  t.equal(await settledReason(gateway, id), 'operator/content/estimated')
})

t.test('a caller that had left is settled before the process ends', async (t) => {
  const { clock, gateway, leave, rows } = await streaming(t)
  leave()
  await heardLeave(clock)
  const [{ id }] = rows()
  await gateway.restart()
  const [{ settled }] = rows()
  t.match(settled, { status: 'aborted', estimated: true }, 'not left to the next start')
  t.equal(await settledReason(gateway, id), 'caller/content/estimated')
})
