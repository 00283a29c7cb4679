/** `GET /v1/activity/keys` on PostgreSQL, from the rows and from the sums. Runs with `npm run test:servers`. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { oneModel } from '../support/gateway.ts'
import { startPostgres } from '../support/postgres.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const OTHER = 'sk-router-v1-other000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: other, key: "${OTHER}" }, { name: boss, key: "${BOSS}", management: true } ] }`
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const server = await startPostgres(t)

t.test('who spent what, by key and day', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const url = await server.database()
  const scene = await startScene(t, {
    clock: systemClock,
    config: (upstream) =>
      `store: { url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }\n${KEYS}\n${oneModel(upstream, 'openai-chat')}`,
    answer: (seen) =>
      seen.body.includes('fault') ? upstreamError(400, 'no') : answerFor(seen, { text: ['fine'], usage: { input: 1000, output: 10 } }),
  })
  const say = async (words: string, key: string): Promise<void> => {
    const body = { max_tokens: 50, messages: [{ role: 'user', content: words }] }
    await (await scene.ask(body, 'chat', { authorization: `Bearer ${key}` })).text()
  }
  const get = async (query = ''): Promise<{ data: JsonObject[]; has_more: boolean }> => {
    const reply = await scene.gateway.get(`/v1/activity/keys${query}`, { authorization: `Bearer ${BOSS}` })
    if (reply.status !== 200) throw new Error(await reply.text())
    return (await reply.json()) as unknown as { data: JsonObject[]; has_more: boolean }
  }
  const requests = ({ data }: { data: JsonObject[] }): number => data.reduce((sum, row) => sum + Number(row.requests), 0)
  for (const [words, key] of [
    ['hello', APP],
    ['hello', APP],
    ['fault', OTHER],
    ['hello', OTHER],
  ] as const)
    await say(words, key)
  const checked = async (from: string): Promise<void> => {
    // Midnight may have come in between; a result is kept for some milliseconds.
    await eventually(`all rows, from ${from}`, async () => (requests(await get('?group_by=model')) === 4 ? true : undefined))
    const { data, has_more: more } = await get('?group_by=model,provider')
    t.equal(more, false)
    const common = { model: 'acme/one', provider_name: 'first' }
    t.match(
      data,
      [
        {
          ...common,
          api_key_hash: secretHash(APP),
          api_key_name: 'app',
          requests: 2,
          failed_requests: 0,
          prompt_tokens: 2000,
          completion_tokens: 20,
        },
        { ...common, api_key_hash: secretHash(OTHER), api_key_name: 'other', requests: 2, failed_requests: 1, prompt_tokens: 1000 },
      ],
      from,
    )
    t.equal(Number(data[0]?.usage), 2 * Number(data[1]?.usage), `${from}: money`)
    t.match(
      (await get(`?group_by=provider&api_key_hash=${secretHash(OTHER)}`)).data,
      [{ provider_name: 'first', requests: 2 }],
      `${from}: a key`,
    )
    t.same((await get('?model=acme/two')).data, [], `${from}: a model`)
  }
  await checked('the rows')
  await server.query(url, 'SELECT headgate_roll((headgate_now() + 1000) * 4096, 1000)')
  t.match(await server.query(url, 'SELECT sum(count)::int AS count FROM use_by_key'), [{ count: 4 }])
  await say('hello', APP)
  await eventually('the fifth', async () => (requests(await get('?group_by=model')) === 5 ? true : undefined))
  await server.query(url, 'DELETE FROM generation WHERE seq >= (SELECT seq FROM use_below)')
  await checked('the sums')
})
