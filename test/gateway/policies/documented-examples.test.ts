/** The examples of docs/conditions.md, each in front of a provider. */
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { compileCondition, isProblem } from '../../../src/config/conditions/condition.ts'
import { GROUP_CLASSES } from '../../../src/config/conditions/facts.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { read } from '../../repository/source-tree.ts'
import { FakeClock } from '../../support/clock.ts'
import { KEY } from '../../support/gateway.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'
import type { Script } from '../../support/upstream.ts'
import { answerFor, says } from '../../support/wire.ts'

const PAGE = read('docs/conditions.md')
const ToolGroup = GROUP_CLASSES.get('tool')
const TOOL = ToolGroup ? { tool: new ToolGroup({ name: () => 'shell', function: () => 'shell' }, undefined) } : {}
const NEWCOMER = 'sk-router-v1-fedcba9876543210fedcba9876543210'

/** The first block of YAML below a heading. */
function block(heading: string): JsonObject {
  const from = PAGE.indexOf(`### ${heading}\n`)
  const [, text] = /^```yaml\n([\s\S]*?)^```$/m.exec(PAGE.slice(from)) ?? []
  if (from < 0 || text === undefined) throw new Error(`no example ${heading}`)
  return parse(text) as JsonObject
}

interface Example extends Scene {
  readonly issuer: TokenIssuer
}

async function start(t: Test, heading: string, answer: Script = says({ text: ['fine'] })): Promise<Example> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const price = { prompt: '1.00', completion: '1.00' }
  const scene = await startScene(t, {
    clock,
    answer,
    config: (url) =>
      stringify({
        auth: {
          keys: [
            { name: 'app', key: KEY },
            { name: 'newcomer', key: NEWCOMER, parent: 'newcomers' },
          ],
          issuers: [{ issuer: issuer.url, audiences: ['headgate'], rules: [{ when: {}, name: 'all' }] }],
        },
        budgets: { newcomers: { lifetime: '100.00' } },
        providers: {
          berlin: provider(`${url}/berlin`, { zdr: true, about: { headquarters: 'DE' } }),
          austin: provider(`${url}/austin`, { zdr: true, about: { headquarters: 'US' } }),
          paris: provider(`${url}/paris`, { about: { headquarters: 'FR' } }),
        },
        models: {
          'acme/large': { endpoints: ['austin', 'paris', 'berlin'].map((name) => ({ provider: name, model: 'large', price })) },
          'acme/small': { endpoints: [{ provider: 'berlin', model: 'small', price }] },
        },
        ...block(heading),
      }),
  })
  return { ...scene, issuer }
}

const provider = (url: string, more: JsonObject): JsonObject => ({
  dialect: 'openai-chat',
  base_url: `${url}/v1`,
  key: 'sk-provider-0123456789',
  ...more,
})
const message = async (response: Response): Promise<string> =>
  String((((await response.json()) as JsonObject).error as JsonObject | undefined)?.message)
const newcomer = { authorization: `Bearer ${NEWCOMER}` }

t.test('a model is kept for one group', async (t) => {
  const { ask, issuer } = await start(t, 'Keep a model for one group')
  const large = { model: 'acme/large' }
  t.equal((await ask(large, 'chat', bearer(await issuer.token({ groups: ['research'] })))).status, 200)
  for (const headers of [
    bearer(await issuer.token({ sub: 'bob', groups: ['sales'] })),
    bearer(await issuer.token({ sub: 'eve', groups: undefined })),
    {},
  ])
    t.match(await message(await ask(large, 'chat', headers)), /The large models are for research/)
  t.equal((await ask({ model: 'acme/small' })).status, 200)
  t.equal((await ask({ model: 'acme/large', models: ['acme/small'] })).status, 200, 'the fallback serves')
})

t.test('customer data stays in the union', async (t) => {
  const { ask, upstream } = await start(t, 'Keep customer data in the union')
  const customer = { model: 'acme/large', metadata: { data: 'customer' } }
  for (let at = 0; at < 6; at++) t.equal((await ask(customer)).status, 200)
  t.ok(upstream.requests.every(({ path }) => path.startsWith('/berlin')))
  const others = { ...customer, provider: { only: ['austin'] } }
  t.match(await message(await ask(others)), /austin removed by policy \(Customer data stays in the union\)/)
  t.equal((await ask({ ...others, metadata: {} })).status, 200)
})

t.test('newcomers get a small model, slowly', async (t) => {
  const { ask } = await start(t, 'Send newcomers to a small model, and slow them down')
  const replies = []
  for (let at = 0; at < 4; at++) replies.push(await ask({ model: 'acme/large', max_tokens: 100 }, 'chat', newcomer))
  t.same(
    replies.map(({ status }) => status),
    [200, 200, 200, 429],
  )
  t.match(await replies[0]?.json(), { model: 'acme/small' })
  t.equal((await ask({ model: 'acme/large', max_tokens: 100_000 })).status, 200, 'others are not slowed down')
})

t.test('what leaves at night is guarded', async (t) => {
  const { ask, upstream, clock } = await start(t, 'Guard what leaves at night')
  const tools = [{ type: 'function', function: { name: 'send', parameters: { type: 'object' } } }]
  const mail = { model: 'acme/small', messages: [{ role: 'user', content: 'Write to ana@example.com' }] }
  const hour = (): number =>
    Number(new Date(clock.now()).toLocaleString('en-GB', { timeZone: 'Europe/Berlin', hour: 'numeric', hour12: false }))
  const isNight = (): boolean => hour() < 7 || hour() >= 19
  const found: [boolean, boolean][] = []
  for (let at = 0; at < 4; at++) {
    await ask({ ...mail, tools })
    found.push([isNight(), !upstream.requests.at(-1)?.body.includes('ana@example.com')])
    await clock.advance(6 * 3_600_000)
  }
  t.same(new Set(found.map(([night]) => night)), new Set([true, false]), 'both times come')
  t.ok(
    found.every(([night, redacted]) => night === redacted),
    JSON.stringify(found),
  )
  await ask(mail)
  t.match(upstream.requests.at(-1)?.body, /ana@example\.com/, 'a request without tools')
})

t.test('commands and pages are refused', async (t) => {
  let call = { id: 'call_1', name: 'router_web_fetch', args: [JSON.stringify({ url: 'https://evil.example/' })] }
  const { ask, upstream } = await start(t, 'Refuse commands and pages', (seen) =>
    answerFor(seen, /"role":"tool"/.test(seen.body) ? { text: ['done'] } : { calls: [call] }),
  )
  const tools = [{ type: 'router:web_fetch' }]
  const answered = async (url: string): Promise<string> => {
    call = { ...call, args: [JSON.stringify({ url })] }
    await ask({ model: 'acme/small', tools })
    return upstream.requests.at(-1)?.body ?? ''
  }
  t.match(await answered('https://evil.example/'), /Only pages of acme\.example may be read/)
  t.match(await answered('https://acme.example.evil.example/'), /Only pages of acme\.example may be read/)
  t.notMatch(await answered('https://docs.acme.example/page'), /Only pages of/)
})

t.test('the condition over commands finds those that remove files', (t) => {
  const [, { when = '' } = {}] = (block('Refuse commands and pages').policies ?? []) as { when?: string }[]
  const condition = compileCondition(when)
  if (isProblem(condition)) throw new Error(condition.message)
  const refuses = (...commands: string[]): unknown => condition.test({ ...TOOL, arguments: { commands } } as never)
  t.equal(refuses('ls', 'cd /tmp && rm -rf x'), true)
  t.equal(refuses('ls -la', 'echo farm -r'), false)
  t.end()
})

t.test('the policies of the beginning load', async (t) => {
  const [, text = ''] = /^```yaml\n(policies:[\s\S]*?)^```$/m.exec(PAGE) ?? []
  const { ask } = await startScene(t, { yaml: text })
  t.equal((await ask()).status, 200)
})
