/** `GET /v1/generations`: the search, over real sockets, on a file and in memory. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { oneModel } from '../support/gateway.ts'
import { type Scene, startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const OTHER = 'sk-router-v1-other000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: other, key: "${OTHER}" }, { name: boss, key: "${BOSS}", management: true } ] }`

interface Found {
  data: JsonObject[]
  next: string | null
}

async function begin(t: Test, store: string) {
  const scene = await startScene(t, {
    config: (url) => `store: { url: "${store}" }\n${KEYS}\n${oneModel(url, 'openai-chat')}`,
    answer: (seen) =>
      seen.body.includes('fault')
        ? upstreamError(400, 'no')
        : answerFor(seen, { text: ['fine'], usage: { input: seen.body.includes('dear') ? 5000 : 100, output: 10 } }),
  })
  const raw = (query: string, key = BOSS) => scene.gateway.get(`/v1/generations${query}`, { authorization: `Bearer ${key}` })
  const find = async (query: string): Promise<Found> => {
    const reply = await raw(query)
    if (reply.status !== 200) throw new Error(await reply.text())
    return (await reply.json()) as unknown as Found
  }
  return { scene, raw, find }
}

async function say(scene: Scene, words: string, more: JsonObject = {}, key = APP): Promise<string> {
  await scene.clock.advance(61_000)
  const reply = await scene.ask({ messages: [{ role: 'user', content: words }], ...more }, 'chat', { authorization: `Bearer ${key}` })
  await reply.text()
  return String(reply.headers.get('x-generation-id'))
}

for (const kind of ['a file', 'memory'])
  t.test(`every filter finds its generations, newest first: ${kind}`, async (t) => {
    const { scene, find } = await begin(t, kind === 'memory' ? 'memory:' : `sqlite:${join(t.testdir(), 'ledger.db')}`)
    const first = await say(scene, 'hello')
    const session = await say(scene, 'hello', { session_id: 'conversation "1"' })
    const failed = await say(scene, 'fault')
    const streamed = await say(scene, 'hello', { stream: true })
    const other = await say(scene, 'dear', {}, OTHER)
    const ids = async (query: string) => (await find(query)).data.map(({ id }) => id)
    t.same(await ids(''), [other, streamed, failed, session, first])
    t.same(await ids('?session_id=conversation%20%221%22'), [session])
    t.same(await ids('?session_id=another'), [])
    t.same(await ids('?status=failed'), [failed])
    t.same(await ids('?status=completed,failed&limit=2'), [other, streamed])
    t.same(await ids('?streamed=true'), [streamed])
    t.same(await ids('?streamed=false&limit=1'), [other])
    t.same(await ids('?min_cost=0.005'), [other])
    t.same(await ids('?max_cost=0'), [failed])
    t.same(await ids('?model=acme/one'), [other, streamed, failed, session, first])
    t.same(await ids('?model=acme/two'), [])
    t.same(await ids('?provider=first'), [other, streamed, failed, session, first])
    const entry = (await find('?status=failed')).data[0] ?? {}
    t.match(entry, { api_key_name: 'app', model: 'acme/one', provider_name: 'first', usage: 0, attempts: 1 })
    t.type(entry.error, 'string')
    t.same(await ids(`?error=${entry.error}`), [failed])
    t.same(await ids('?error=nothing_like_that'), [])
    const hash = (await find('?limit=1')).data[0]?.api_key_hash
    t.same(await ids(`?api_key_hash=${hash}`), [other])
    t.same(await ids(`?api_key_hash=${entry.api_key_hash}`), [streamed, failed, session, first])
    t.same(await ids(`?api_key_hash=${'0'.repeat(64)}`), [])
    const at = String(entry.created_at)
    t.same(await ids(`?since=${at}`), [other, streamed, failed])
    t.same(await ids(`?until=${at}`), [session, first])

    const one = await scene.gateway.get(`/v1/generations/${failed}`, { authorization: `Bearer ${BOSS}` })
    t.match(((await one.json()) as JsonObject).data, {
      id: failed,
      api_key_name: 'app',
      status: 'failed',
      attempts: [{ position: 1, provider_name: 'first', status: 400, reason: 'first' }],
      timeline: [{ kind: 'admitted', at_ms: 0 }, { kind: 'attempt' }, { kind: 'settled', name: 'failed' }],
      money: [{ item: 'providers', usd: 0 }],
    })
    t.equal((await scene.gateway.get(`/v1/generations/${failed}`, { authorization: `Bearer ${APP}` })).status, 403)
    t.equal((await scene.gateway.get('/v1/generations/gen-0', { authorization: `Bearer ${BOSS}` })).status, 404)

    const seen: unknown[] = []
    let next = ''
    for (let pages = 0; pages < 10; pages++) {
      const page = await find(`?limit=2&api_key_hash=${entry.api_key_hash}${next && `&cursor=${next}`}`)
      seen.push(...page.data.map(({ id }) => id))
      if (page.next === null) break
      next = page.next
    }
    t.same(seen, [streamed, failed, session, first], 'page by page')
  })

t.test('what is wrong is named, and only management keys search', async (t) => {
  const { raw } = await begin(t, 'memory:')
  const cases: [string, string][] = [
    ['cursor=forged', 'cursor'],
    [`cursor=${Buffer.from("1 ' OR 1=1 --").toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('99999999999999999999 x').toString('base64url')}`, 'cursor'],
    [`cursor=${'A'.repeat(2_000)}`, 'cursor'],
    ['limit=0', 'limit'],
    ['limit=100000', 'limit'],
    ['status=fine', 'status'],
    ['since=yesterday', 'since'],
    ['since=2026-11-02&until=2026-11-01', 'since'],
    ['min_cost=-1', 'min_cost'],
    ['min_cost=2&max_cost=1', 'min_cost'],
    ['max_cost=1e300', 'max_cost'],
    ['streamed=yes', 'streamed'],
    ['api_key_hash=abc', 'api_key_hash'],
    [`session_id=${'x'.repeat(600)}`, 'session_id'],
  ]
  for (const [query, field] of cases) {
    const reply = await raw(`?${query}`)
    t.equal(reply.status, 400, query.slice(0, 60))
    t.match(await reply.text(), new RegExp(field), field)
  }
  t.equal((await raw('', APP)).status, 403)
  t.equal((await raw('', `${APP}x`)).status, 401)
  const zero = await raw(`?cursor=${Buffer.from('0 ').toString('base64url')}`)
  t.same(((await zero.json()) as JsonObject).data, [], 'before the first there is nothing')
})
