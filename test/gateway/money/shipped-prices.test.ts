/** Charges of the shipped catalogue, by the provider's own pages: cached input, hours of the day, days of the week. */
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const catalog = (name: string): string => fileURLToPath(new URL(`../../../config/catalog/${name}.yaml`, import.meta.url))

/** @param at such as `2026-11-28T14:10:00Z`. */
function sceneAt(t: Test, provider: 'deepseek' | 'mistral', at = '2026-11-28T14:10:00Z'): Promise<Scene> {
  return startScene(t, {
    clock: new FakeClock(3, Date.parse(at)),
    config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "1000.00" } ] }
providers: { ${provider}: { preset: ${provider}, base_url: "${url}/v1", key: sk-provider } }
catalog: [${JSON.stringify(catalog(provider))}]
`,
  })
}

const question = (model: string): JsonObject => ({ model, max_tokens: 20_000, messages: [{ role: 'user', content: 'Hello' }] })

/** Cost that the reply shows and the generation keeps, in USD. */
async function chargedCost(t: Test, { gateway }: Scene, model: string): Promise<number> {
  const response = await gateway.post('/v1/chat/completions', question(model))
  const body = (await response.json()) as JsonObject
  t.equal(response.status, 200, JSON.stringify(body))
  const { cost } = object(body.usage)
  const record = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  t.equal(object(((await record.json()) as JsonObject).data).total_cost, cost)
  return Number(cost)
}

t.test('cached input of Mistral costs a tenth, and Large 4 what its page says since October', async (t) => {
  const scene = await sceneAt(t, 'mistral')
  scene.upstream.script = says({ text: ['ok'], usage: { input: 100_000, cached: 90_000, output: 0 } })
  t.equal(await chargedCost(t, scene, 'mistralai/mistral-large-4'), 0.0133)
  t.equal(await chargedCost(t, scene, 'mistralai/mistral-medium-3.5'), 0.0285)
  t.equal(await chargedCost(t, scene, 'mistralai/mistral-small-4'), 0.00285)
})

const USED = { input: 10_000, output: 1_000 }
const [OFF_PEAK, PEAK] = [0.0021, 0.0042]

t.test('DeepSeek costs half outside of its peak hours, and on days on which there are none', async (t) => {
  await every(t, 'each moment', async (t) => {
    for (const [at, expected] of [
      ['2026-11-28T02:00:00Z', OFF_PEAK, 'a Saturday'],
      ['2026-11-29T09:59:00Z', OFF_PEAK, 'a Sunday'],
      ['2026-11-30T00:59:00Z', OFF_PEAK, 'a Monday, before'],
      ['2026-11-30T01:00:00Z', PEAK, 'a Monday'],
      ['2026-11-30T04:00:00Z', OFF_PEAK],
      ['2026-11-30T05:59:00Z', OFF_PEAK],
      ['2026-12-04T06:00:00Z', PEAK, 'a Friday'],
      ['2026-12-04T10:00:00Z', OFF_PEAK],
      ['2027-01-01T02:00:00Z', OFF_PEAK, 'a Friday, and a public holiday there'],
      ['2027-01-04T02:00:00Z', PEAK, 'the Monday after'],
    ] as const) {
      const scene = await sceneAt(t, 'deepseek', at)
      scene.upstream.script = says({ text: ['ok'], usage: USED })
      t.equal(await chargedCost(t, scene, 'deepseek/deepseek-flash'), expected, at)
    }
  })
})

t.test('it counts when the answer ends; until then the dearest hour is held', async (t) => {
  const scene = await sceneAt(t, 'deepseek', '2026-11-30T00:59:30Z')
  const { clock, gateway, upstream } = scene
  const plan = object(object((await (await gateway.post('/v1/plan', question('deepseek/deepseek-flash'))).json()) as JsonObject).hold)
  const { usd, input_tokens_bound: bound } = plan
  t.equal(Math.round(Number(usd) * 1e9), Number(bound) * 300 + 20_000 * 1200, 'the hold is that of the peak')
  upstream.script = async (request, index) => {
    await clock.advance(60_000)
    return says({ text: ['ok'], usage: USED })(request, index)
  }
  t.equal(await chargedCost(t, scene, 'deepseek/deepseek-flash'), PEAK, 'it ended at 01:00:30')
  await clock.advance(3 * 3_600_000 - 90_000)
  t.equal(new Date(clock.now()).toISOString(), '2026-11-30T03:59:00.000Z')
  t.equal(await chargedCost(t, scene, 'deepseek/deepseek-flash'), OFF_PEAK, 'it ended at 04:00')
})

t.test('the list shows the hours with their days', async (t) => {
  const { gateway } = await sceneAt(t, 'deepseek')
  const { data } = (await (await gateway.get('/v1/models')).json()) as { data: JsonObject[] }
  t.match(data.find(({ id }) => id === 'deepseek/deepseek-flash')?.pricing, {
    prompt: '0.00000015',
    overrides: [
      { utc_start: 100, utc_end: 400, days: ['mon', 'tue', 'wed', 'thu', 'fri'], not_on: ['2027-01-01'], prompt: '0.0000003' },
      { utc_start: 600, utc_end: 1000, prompt: '0.0000003' },
    ],
  })
})
