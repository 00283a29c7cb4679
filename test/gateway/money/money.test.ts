/** Money from outside: no overspend, nothing lost, and the table of what is charged. */
import { join } from 'node:path'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import { turns } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { runs } from '../../support/seed.ts'
import { Gate, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor, says, type Utterance } from '../../support/wire.ts'

const KEY = 'sk-router-v1-limited0000000000'
const LIMIT = 0.02
const WAVE = runs(60, 1000)

const limited = (store: string): string => `
store: { url: "${store}" }
auth: { keys: [ { name: limited, key: "${KEY}", limit: "${LIMIT}" } ] }
`

async function fetchKey(gateway: Gateway): Promise<{ usage: number; limit_remaining: number }> {
  return ((await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }).data
}

const question = { model: 'acme/one', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }

t.test('parallel requests never spend more than the limit', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'], usage: { input: 30, output: 20 } }),
    yaml: `${limited('memory:')}`,
  })
  const statuses: number[] = []
  /** One wave of parallel requests. @returns how many were served. */
  const wave = async (): Promise<number> => {
    const seen = await Promise.all(
      Array.from({ length: WAVE }, async () => {
        const response = await gateway.post('/v1/chat/completions', question)
        await response.text()
        return response.status
      }),
    )
    statuses.push(...seen)
    return seen.filter((status) => status === 200).length
  }
  while ((await wave()) > 0);
  const { usage, limit_remaining } = await fetchKey(gateway)
  const served = statuses.filter((status) => status === 200).length
  t.same([...new Set(statuses)].sort(), [200, 402])
  t.equal(upstream.requests.length, served, 'what was refused was never sent')
  t.equal(Math.round(usage * 1e9), served * 70_000, 'usage is the sum of what was served')
  t.ok(usage <= LIMIT, 'within the limit')
  t.ok(limit_remaining < 0.0012, `less than one hold is left (${limit_remaining})`)
})

t.test('the hold is written before the provider is called, and settled before the reply ends', async (t) => {
  const { gateway, upstream } = await startScene(t, { answer: says({ text: ['ok'] }), yaml: `${limited('memory:')}` })
  const { journal } = gateway.running.store
  const commit = journal.committed.bind(journal)
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const gates = [new Gate(), new Gate()]
      const begun = [new Gate(), new Gate()]
      let commits = 0
      journal.committed = async () => {
        const number = Math.min(commits++, 1)
        begun[number].open()
        await gates[number].opened
        return commit()
      }
      const before = upstream.requests.length
      let ended = false
      const reply = gateway.post('/v1/chat/completions', { ...question, stream }).then((response) => response.text())
      void reply.then(() => {
        ended = true
      })
      await begun[0].opened
      await turns(100)
      t.equal(upstream.requests.length, before, 'no call while the hold is not committed')
      gates[0].open()
      await begun[1].opened
      await turns(100)
      t.equal(ended, false, 'no end while the settlement is not committed')
      t.equal(upstream.requests.length, before + 1)
      gates[1].open()
      t.match(await reply, /"ok"/)
    }
  })
  journal.committed = () => Promise.reject(new Fault('unavailable'))
  const refused = await gateway.post('/v1/chat/completions', question)
  t.equal(refused.status, 503, 'nothing is served that cannot be recorded')
  t.match(await refused.json(), { error: { code: 503 } })
  t.equal(upstream.requests.length, 2)
})

t.test('spend and records survive a restart', async (t) => {
  const { gateway } = await startScene(t, {
    answer: says({ text: ['ok'] }),
    yaml: `${limited(`sqlite:${join(t.testdir(), 'headgate.db')}`)}`,
  })
  const response = await gateway.post('/v1/chat/completions', question)
  const id = response.headers.get('x-generation-id')
  await response.text()
  const before = await fetchKey(gateway)
  const record = await (await gateway.get(`/v1/generation?id=${id}`)).json()
  t.equal(before.usage, 0.000025)
  await gateway.restart()
  t.same(await fetchKey(gateway), before)
  t.same(await (await gateway.get(`/v1/generation?id=${id}`)).json(), record)
})

interface Charge {
  name: string
  utterance: Utterance
  /** USD. */
  cost: number
  estimated: boolean
}

/** Removes what a provider says about usage. */
const silent = (text: string): string => text.replace(/,?"usage":\{(?:[^{}]|\{[^{}]*\})*\}/g, '')

t.test('charges a whole reply by its usage', async (t) => {
  const upstream = await startUpstream(says({}))
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'openai-responses']) {
      const gateway = await startGateway(oneModel(upstream.url, dialect))
      const cases: readonly Charge[] = [
        { name: 'as reported', utterance: { text: ['ok'], usage: { input: 100, output: 10 } }, cost: 0.00012, estimated: false },
        {
          name: 'cut at the limit',
          utterance: { text: ['ok'], end: 'length', usage: { input: 100, output: 10 } },
          cost: 0.00012,
          estimated: false,
        },
        { name: 'an explicit zero is zero', utterance: { text: ['ok'], usage: { input: 0, output: 0 } }, cost: 0, estimated: false },
      ]
      for (const { name, utterance, cost, estimated } of cases)
        for (const stream of [false, true]) {
          upstream.script = (seen) => answerFor(seen, utterance)
          const response = await gateway.post('/v1/chat/completions', { ...question, stream })
          await response.text()
          const record = object(
            ((await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as { data: never }).data,
          )
          t.match(record, { total_cost: cost, estimated, streamed: stream }, `${dialect} ${name}`)
        }
      for (const stream of [false, true]) {
        upstream.script = (seen) => {
          const answer = answerFor(seen, { text: ['some words that count for something'] })
          return { ...answer, body: answer.body?.map((piece) => silent(String(piece))) }
        }
        const response = await gateway.post('/v1/chat/completions', { ...question, stream })
        await response.text()
        const record = object(
          ((await (await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)).json()) as { data: never }).data,
        )
        t.match(record, { estimated: true }, `${dialect} nothing reported`)
        t.ok(Number(record.total_cost) > 0, 'is estimated, and flagged')
        t.ok(Number(record.tokens_completion) >= 8, 'what was said counts, streamed or not')
      }
      await gateway.close()
    }
  })
  await upstream.close()
})

t.test('with on_abort drain the reported usage is charged', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses']) {
    const gate = new Gate()
    const { gateway, upstream } = await startScene(t, {
      answer: (seen) => {
        const frames = framesFor(seen.path, { text: ['one ', 'two'] })
        const cut = frames.findIndex((frame) => frame.includes('two'))
        return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
      },
      dialect,
      provider: 'on_abort: drain',
    })
    const aborter = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...question, stream: true }),
      signal: aborter.signal,
    })
    await response.body?.getReader().read()
    aborter.abort()
    gate.open()
    const seen = await upstream.requests[0].closed
    t.equal(seen.aborted, false, `${dialect}: the provider is read to its end`)
    const path = `/v1/generation?id=${response.headers.get('x-generation-id')}`
    const settled = async (): Promise<Response> => {
      for (;;) {
        const record = await gateway.get(path)
        if (record.status === 200 && /"total_cost":[0-9.e-]*[1-9]/.test(await record.clone().text())) return record
      }
    }
    const record = object(((await (await settled()).json()) as { data: never }).data)
    t.match(record, { total_cost: 0.000025, tokens_completion: 7, estimated: false })
  }
})
