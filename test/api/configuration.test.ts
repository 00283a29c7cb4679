/** The running configuration and submitted ones, over real sockets. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const APP = 'sk-router-v1-app00000000000000000000000'
const KEYS = `auth:\n  keys:\n    - { name: app, key: "${APP}" }\n    - { name: boss, key: "${BOSS}", management: true }\n`
const boss = { authorization: `Bearer ${BOSS}` }

async function begin(t: Test) {
  const scene = await startScene(t, { config: (url) => `${KEYS}${oneModel(url, 'openai-chat')}` })
  const check = async (body: JsonObject, key = BOSS) =>
    await scene.gateway.post('/v1/configuration/check', body, { authorization: `Bearer ${key}` })
  const checked = async (body: JsonObject): Promise<JsonObject> => {
    const reply = await check(body)
    if (reply.status !== 200) throw new Error(await reply.text())
    return ((await reply.json()) as { data: JsonObject }).data
  }
  return { ...scene, check, checked }
}

const provider = (lines: string) => `providers:
  acme:
    dialect: openai-chat
    base_url: https://acme.example/v1
${lines}
models:
  acme/one:
    name: One
    endpoints: [{ provider: acme, model: one, price: { prompt: "1", completion: "2" } }]
`

t.test('the running configuration stands entry by entry with its place, and no secret in it', async (t) => {
  const { gateway } = await begin(t)
  const reply = await gateway.get('/v1/configuration', boss)
  const text = await reply.text()
  t.equal(reply.status, 200)
  t.notMatch(text, BOSS)
  t.notMatch(text, APP)
  const { data } = JSON.parse(text) as { data: { file: string; entries: JsonObject[] } }
  const entry = (path: string) => data.entries.find((each) => each.path === path)
  const written = (path: string) => entry(path) ?? t.fail(path)
  t.match(written('auth.keys[0].key'), { value: '***', secret: true, file: data.file, column: 25 })
  t.match(written('auth.keys[1].management'), {
    value: true,
    secret: false,
    line: Number((written('auth.keys[0].key') as JsonObject).line) + 1,
  })
  t.match(written('auth.keys[0].name'), { value: 'app', secret: false })
  const part = (await (await gateway.get('/v1/configuration?path=models', boss)).json()) as unknown as { data: { entries: JsonObject[] } }
  t.ok(part.data.entries.length > 0)
  t.ok(part.data.entries.every(({ path }) => String(path).startsWith('models')))
})

t.test('after a reload the new configuration is shown', async (t) => {
  const text = `${KEYS}${oneModel('http://127.0.0.1:9', 'openai-chat')}`
  const gateway = await startGateway(text, { directory: t.testdir() })
  t.teardown(() => gateway.close())
  const names = async (): Promise<unknown[]> => {
    const { data } = (await (await gateway.get('/v1/configuration', boss)).json()) as unknown as { data: { entries: JsonObject[] } }
    return data.entries.filter(({ path }) => /^auth.*name$/.test(String(path))).map(({ value }) => value)
  }
  t.same(await names(), ['app', 'boss'])
  t.same(await names(), ['app', 'boss'], 'again')
  t.match(await gateway.reconfigure(text.replace('name: app', 'name: application')), { kind: 'applied' })
  t.same(await names(), ['application', 'boss'])
})

t.test('a text is checked as headgate check does: its problems have their places', async (t) => {
  const { checked } = await begin(t)
  const wrong = await checked({ text: provider(`    key: \${ACME_KEY:-x}\n    timeout: 3`) })
  t.match(wrong, { ok: false, problems: [{ line: 6, column: 5, path: 'providers.acme.timeout', message: /unknown key/ }] })
  const good = await checked({ text: provider('    key: "x-1"') })
  t.match(good, { ok: true, problems: [], not_checked: [], counts: { providers: 1, models: 1, keys: 0 } })
  t.match(await checked({ text: 'a: [' }), { ok: false, problems: [{ line: 1, path: '' }] })
})

t.test('a check shows the lines in which a text differs, without secrets', async (t) => {
  const { checked, gateway } = await begin(t)
  const running = (await (await gateway.get('/v1/configuration', boss)).json()) as unknown as { data: { entries: JsonObject[] } }
  t.ok(running.data.entries.length > 0)
  const text = provider('    key: "sk-another-secret-1234"')
  const { difference } = (await checked({ text })) as { difference: { lines: JsonObject[]; added: number; removed: number } }
  const shown = JSON.stringify(difference)
  t.notMatch(shown, BOSS)
  t.notMatch(shown, 'sk-another-secret')
  t.match(
    difference.lines.find(({ text }) => String(text).includes('base_url: https://acme')),
    { kind: 'added', was: null, now: 4 },
  )
  t.match(
    difference.lines.find(({ text }) => String(text).includes('name: boss')),
    { kind: 'removed', now: null },
  )
  t.ok(difference.lines.some(({ text }) => text === '    key: "***"'))
  t.equal((await checked({ text: 'a: [' })).difference, null)
})

t.test('a submitted text runs nothing and reads nothing of the machine', async (t) => {
  const { checked } = await begin(t)
  const folder = t.testdir()
  const mark = join(folder, 'ran')
  const file = join(folder, 'secret')
  writeFileSync(file, 'the-words-of-the-file')
  const plugin = join(folder, 'plugin.mjs')
  writeFileSync(plugin, `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, 'x')`)
  const text = `${provider(`    key: "\${command:touch ${mark}}"`)}plugins: { load: [${JSON.stringify(plugin)}] }\ncatalog: [${JSON.stringify(file)}]\n`
  const found = await checked({ text })
  t.match(found, { ok: true, problems: [] })
  t.same(
    (found.not_checked as JsonObject[]).map(({ path }) => path),
    ['providers.acme.key', 'catalog[0]', 'plugins.load[0]'],
  )
  t.match(found.not_checked, [{ line: 5, what: `\${command:touch ${mark}}` }, {}, { what: plugin }])
  const named = await checked({ text: provider(`    key: "\${file:${file}}"\n    name: "\${PATH}"\n    weight: "\${file:${file}}"`) })
  t.notMatch(JSON.stringify(named), 'the-words-of-the-file')
  t.notMatch(JSON.stringify(named), String(process.env.PATH))
  t.equal(existsSync(mark), false)
})

t.test('policy tests run against the text', async (t) => {
  const { checked } = await begin(t)
  const tests = `tests:
  - { name: goes to acme, request: { model: acme/one, messages: [{ role: user, content: hi }] }, expect: { first: acme } }
  - { name: goes elsewhere, request: { model: acme/one, messages: [{ role: user, content: hi }] }, expect: { first: other } }
`
  const found = await checked({ text: provider(`    key: "\${ACME_KEY:-x}"`), tests })
  t.match(found, {
    ok: true,
    passed: 1,
    failed: 1,
    tests: [
      { name: 'goes to acme', passed: true, differences: [] },
      { name: 'goes elsewhere', passed: false, differences: ['first: expected other, found acme'] },
    ],
  })
  t.match(await checked({ text: provider(''), tests: 'tests: 3' }), { test_problems: [{ line: 1, path: 'tests' }] })
})

t.test('what cannot be checked is refused', async (t) => {
  const { check, gateway } = await begin(t)
  t.equal((await check({ text: 'x' }, APP)).status, 403)
  t.equal((await gateway.get('/v1/configuration', { authorization: `Bearer ${APP}` })).status, 403)
  t.equal((await fetch(`${gateway.url}/v1/configuration`)).status, 401)
  t.equal((await gateway.post('/v1/configuration', {}, boss)).status, 405)
  t.equal((await check({})).status, 400)
  t.match(await (await check({ text: 'x'.repeat(1_000_001) })).text(), /text: expected at most 1000000 characters/)
  t.equal((await check({ text: 'x'.repeat(5_000_000) })).status, 413)
})
