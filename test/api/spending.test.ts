/** `GET /v1/activity/keys` and `GET /v1/keys/{hash}/budget`, over real sockets, on a file and in memory. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { JumpingClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { oneModel } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const OTHER = 'sk-router-v1-other000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}", limit: "1", limit_reset: weekly }, { name: other, key: "${OTHER}" }, { name: boss, key: "${BOSS}", management: true } ] }`
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const DAY = 86_400_000
const positionCursor = (position: unknown): string => Buffer.from(JSON.stringify(position)).toString('base64url')

async function begin(t: Test, store: string) {
  const scene = await startScene(t, {
    clock: new JumpingClock(),
    config: (url) => `store: { url: "${store}" }\n${KEYS}\n${oneModel(url, 'openai-chat')}`,
    answer: (seen) =>
      seen.body.includes('fault') ? upstreamError(400, 'no') : answerFor(seen, { text: ['fine'], usage: { input: 1000, output: 10 } }),
  })
  const get = async (path: string, key = BOSS) => {
    const reply = await scene.gateway.get(path, { authorization: `Bearer ${key}` })
    return { status: reply.status, body: (await reply.json()) as JsonObject }
  }
  const say = async (words: string, key = APP) => {
    await (
      await scene.ask({ max_tokens: 50, messages: [{ role: 'user', content: words }] }, 'chat', { authorization: `Bearer ${key}` })
    ).text()
  }
  const cost = (): number => Number(scene.rows()[0]?.settled?.cost) / 1e9
  return { ...scene, get, say, cost }
}

for (const kind of ['a file', 'memory'])
  t.test(`who spent what, by key and day: ${kind}`, async (t) => {
    const { clock, get, say, cost } = await begin(t, kind === 'memory' ? 'memory:' : `sqlite:${join(t.testdir(), 'ledger.db')}`)
    clock.jumpTo('2026-03-02T12:00:00Z')
    await say('hello')
    await say('hello', OTHER)
    clock.jumpTo('2026-03-03T12:00:00Z')
    await say('hello')
    await say('hello')
    await say('fault', OTHER)
    const one = cost()
    const same = { model: 'acme/one', provider_name: 'first' }
    const { status, body } = await get('/v1/activity/keys')
    t.equal(status, 200)
    t.match(body, { has_more: false, since: '2026-02-02', until: '2026-03-03' })
    t.match(body.data, [
      {
        ...same,
        date: '2026-03-03',
        api_key_hash: secretHash(APP),
        api_key_name: 'app',
        requests: 2,
        failed_requests: 0,
        prompt_tokens: 2000,
      },
      { ...same, date: '2026-03-03', api_key_name: 'other', requests: 1, failed_requests: 1, usage: 0 },
      { ...same, date: '2026-03-02', requests: 1, usage: one },
      { ...same, date: '2026-03-02', requests: 1, usage: one },
    ])
    t.match((await get('/v1/activity/keys?group_by=model')).body.data, [
      { api_key_name: 'app', model: 'acme/one', requests: 3, usage: Math.round(one * 3e9) / 1e9, completion_tokens: 30 },
      { api_key_name: 'other', requests: 2, failed_requests: 1, usage: one },
    ])
    t.notOk(Object.hasOwn((((await get('/v1/activity/keys?group_by=model')).body.data ?? []) as JsonObject[])[0] ?? {}, 'date'))
    const counts = async (query: string) => ((await get(`/v1/activity/keys?${query}`)).body.data as JsonObject[]).length
    t.equal(await counts(`api_key_hash=${secretHash(APP)}`), 2)
    t.equal(await counts('since=2026-03-03'), 2)
    t.equal(await counts('until=2026-03-02'), 2)
    t.equal(await counts('model=acme/two'), 0)
    t.equal(await counts('provider=first'), 4)
    const page = (await get('/v1/activity/keys?offset=1&limit=2')).body
    t.match(page, { has_more: true, data: [{ api_key_name: 'other' }, { date: '2026-03-02' }] })
    t.equal((page.data as JsonObject[]).length, 2)
    t.match((await get('/v1/activity/keys?offset=2&limit=2')).body, {
      has_more: false,
      next: null,
      data: [{ date: '2026-03-02' }, { date: '2026-03-02' }],
    })
    for (const query of [
      '',
      '&group_by=model',
      '&group_by=day',
      '&group_by=day,provider&provider=first',
      `&api_key_hash=${secretHash(APP)}`,
    ]) {
      const { data: whole } = (await get(`/v1/activity/keys?${query}`)).body
      const paged: unknown[] = []
      for (let cursor: unknown = ''; cursor !== null; ) {
        const { data, next } = (await get(`/v1/activity/keys?limit=1${query}&cursor=${cursor}`)).body
        paged.push(...(data as unknown[]))
        cursor = next
      }
      t.same(paged, whole, `page by page: ${query}`)
    }
  })

t.test('a budget has its window, its days and a forecast', async (t) => {
  const { clock, get, say, cost } = await begin(t, `sqlite:${join(t.testdir(), 'ledger.db')}`)
  // A Monday, on which the week of the limit begins.
  clock.jumpTo('2026-03-02T00:00:00Z')
  await say('hello')
  const one = cost()
  clock.jumpTo('2026-03-04T00:00:00Z')
  await say('hello')
  const { body } = await get(`/v1/keys/${secretHash(APP)}/budget`)
  const data = body.data as JsonObject
  t.match(data, {
    hash: secretHash(APP),
    name: 'app',
    limit: 1,
    limit_reset: 'weekly',
    window: { start: '2026-03-02T00:00:00.000Z', end: '2026-03-09T00:00:00.000Z' },
    used: 2 * one,
    held: 0,
  })
  t.equal(Number(data.remaining).toFixed(9), (1 - 2 * one).toFixed(9))
  const days = data.days as JsonObject[]
  t.equal(days.length, 31)
  t.same(days.slice(-3), [
    { date: '2026-03-02', usage: one, requests: 1 },
    { date: '2026-03-03', usage: 0, requests: 0 },
    { date: '2026-03-04', usage: one, requests: 1 },
  ])
  t.match(data.forecast, { basis_days: 2, per_day: one })
  t.equal(Number((data.forecast as JsonObject).used_at_end).toFixed(6), (7 * one).toFixed(6))
  const listed = async (query: string) => (await get(`/v1/keys?${query}`)).body.data as JsonObject[]
  const forecasts = (await listed('include_forecast=true')).map(({ name, forecast }) => ({ name, forecast }))
  const none = ['other', 'boss'].map((name) => ({ name, forecast: null }))
  t.same(forecasts, [{ name: 'app', forecast: data.forecast }, ...none], 'the list has the same forecast')
  t.notOk(
    (await listed('')).some((key) => 'forecast' in key),
    'where it is wanted',
  )
  t.equal((await get('/v1/keys?include_forecast=maybe')).status, 400)
  t.same((await get(`/v1/keys/${secretHash(OTHER)}/budget`)).body.data, {
    hash: secretHash(OTHER),
    name: 'other',
    limit: null,
    limit_reset: null,
    window: { start: null, end: null },
    used: 0,
    held: 0,
    remaining: null,
    days: days.map(({ date }) => ({ date, usage: 0, requests: 0 })),
    forecast: { per_day: 0, basis_days: 0, used_at_end: null, runs_out_at: null },
  })
})

t.test('a forecast says when nothing is left', async (t) => {
  const { clock, gateway, get, say, cost } = await begin(t, 'memory:')
  clock.jumpTo('2026-03-02T00:00:00Z')
  await say('hello', OTHER)
  const limit = 10.5 * cost()
  const made = await gateway.post('/v1/keys', { name: 'short', limit }, { authorization: `Bearer ${BOSS}` })
  const { key, data } = (await made.json()) as { key: string; data: { hash: string } }
  await say('hello', key)
  await say('hello', key)
  clock.jumpTo('2026-03-03T00:00:00Z')
  const { forecast } = (await get(`/v1/keys/${data.hash}/budget`)).body.data as { forecast: JsonObject }
  t.match(forecast, { basis_days: 1, per_day: 2 * cost(), used_at_end: null, runs_out_at: '2026-03-07T06:00:00.000Z' })
})

t.test('what is wrong is named, and only management keys may read', async (t) => {
  const { get } = await begin(t, 'memory:')
  await every(t, 'every query', async (t) => {
    for (const [query, field] of [
      ['since=yesterday', 'since'],
      ['since=2026-02-30', 'since'],
      ['since=2020-01-01', 'since'],
      ['since=2026-03-02&until=2026-03-01', 'since'],
      ['until=x', 'until'],
      ['group_by=key', 'group_by'],
      ['limit=10001', 'limit'],
      ['offset=-1', 'offset'],
      ['offset=10001', 'offset'],
      ['cursor=x', 'cursor'],
      [`cursor=${positionCursor([DAY, '5', 'k', 'm'])}`, 'cursor'],
      [`cursor=${positionCursor([DAY + 1, '5', 'k', 'm', 'p'])}`, 'cursor'],
      [`cursor=${positionCursor([DAY, '--5', 'k', 'm', 'p'])}`, 'cursor'],
      [`cursor=${positionCursor([DAY, '5', 'k'.repeat(3_000), 'm', 'p'])}`, 'cursor'],
      [`cursor=${positionCursor({})}`, 'cursor'],
      ['api_key_hash=abc', 'api_key_hash'],
    ])
      t.match(await get(`/v1/activity/keys?${query}`), { status: 400, body: { error: { metadata: { field } } } }, query)
  })
  for (const path of ['/v1/activity/keys', `/v1/keys/${secretHash(APP)}/budget`]) t.equal((await get(path, APP)).status, 403, path)
  for (const path of [`/v1/keys/${'0'.repeat(64)}/budget`, '/v1/keys/abc/budget', '/v1/keys//budget'])
    t.equal((await get(path)).status, 404, path)
})
