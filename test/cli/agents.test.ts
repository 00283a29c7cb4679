/** `headgate agents` and the setting `agents`: names that agents send, what is pasted, and what would become of their first requests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type AgentFlags, agents } from '../../src/cli/agents.ts'
import { AGENTS } from '../../src/config/agents/index.ts'
import { loadConfig } from '../../src/config/load.ts'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { printed } from '../support/printed.ts'

const SECRET = 'sk-router-v1-0123456789abcdef'

const CONFIG = `
server: { port: 8088 }
auth: { keys: [ { name: app, key: "${SECRET}" } ] }
providers: { sim: { dialect: sim } }
models:
  acme/large: { context: 200000, max_output: 64000, endpoints: [ { provider: sim, model: echo, price: free } ] }
  acme/small: { context: 100000, max_output: 8000, endpoints: [ { provider: sim, model: echo, price: free } ] }
aliases: { claude-sonnet-5-5: acme/small }
agents:
  claude-code: { main: acme/large, small: acme/small }
  codex: { main: acme/large }
  opencode: { main: acme/large, small: acme/small }
`

async function run(t: Test, words: string[], flags: AgentFlags = {}, { config = CONFIG, key }: { config?: string; key?: string } = {}) {
  const file = join(t.testdir(), 'headgate.yaml')
  writeFileSync(file, config)
  return printed((streams) => agents(words, { config: file, ...flags }, streams, key === undefined ? {} : { HEADGATE_KEY: key }))
}

t.test('the setting makes aliases of the names that agents send, and an alias of the file wins', async (t) => {
  const gateway = await startGateway(CONFIG.replace(/^server.*$/m, ''))
  t.teardown(() => gateway.close())
  const served = async (model: string): Promise<unknown> => {
    const response = await gateway.post('/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] })
    t.equal(response.status, 200, model)
    return ((await response.json()) as JsonObject).model
  }
  t.equal(await served('claude-opus-5-5'), 'acme/large')
  t.equal(await served('claude-haiku-5-5'), 'acme/small')
  t.equal(await served('claude-sonnet-5-5'), 'acme/small', 'the alias of the file')
  t.equal(await served('codex/main'), 'acme/large')
  t.equal(await served('opencode/small'), 'acme/small')
})

t.test('what is wrong with the setting is said with its place', async (t) => {
  const cases: [wrong: string, message: RegExp][] = [
    ['agents: { cursor: { main: acme/large } }', /agents\.cursor: .*expected one of: claude-code, codex/],
    ['agents: { codex: { main: acme/none } }', /agents\.codex\.main: no such model/],
    ['agents: { codex: { small: acme/small } }', /agents\.codex\.small: this agent has no such model, expected one of: main/],
    ['agents: { codex: { writer: acme/small } }', /agents\.codex\.writer: .*expected one of: main, plan, small, background/],
  ]
  for (const [wrong, message] of cases)
    t.throws(() => loadConfig('headgate.yaml', {}, { text: `${CONFIG.slice(0, CONFIG.indexOf('agents:'))}${wrong}\n` }), { message }, wrong)
})

/** Every text within a value. */
const texts = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : []

t.test('each agent has blocks that can be pasted, with the address, KEY and the names that are served', async (t) => {
  const { code, out } = await run(t, ['list'], { json: true })
  t.equal(code, 0)
  t.notMatch(out, SECRET)
  const shown = JSON.parse(out) as JsonObject[]
  t.same(
    shown.map(({ name }) => name),
    AGENTS.map(({ name }) => name),
  )
  await every(t, 'every agent', async (t) => {
    for (const { name, blocks } of shown) {
      const all = list(blocks)
      const text = all.map((block) => String(block.text)).join('\n')
      t.match(text, 'http://127.0.0.1:8088', String(name))
      t.match(text, 'KEY', String(name))
      for (const block of all) {
        if (/\.(json|ya?ml)$/.test(String(block.to)))
          t.ok(isObject(parse(String(block.text))) || name === 'llm', `${name}: ${String(block.to)}`)
      }
    }
  })
  const shownBlocks = (name: string): JsonObject[] => list(shown.find((each) => each.name === name)?.blocks)
  const claude = JSON.parse(String(shownBlocks('claude-code')[0].text)) as JsonObject
  t.same(claude, { env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:8088', ANTHROPIC_AUTH_TOKEN: 'KEY' } }, 'its own names are served')
  const opencode = JSON.parse(String(shownBlocks('opencode')[0].text)) as JsonObject
  t.match(opencode, { model: 'headgate/opencode/main', small_model: 'headgate/opencode/small' })
  t.same(object(object(object(opencode.provider).headgate).models)['opencode/main'], {
    name: 'opencode/main',
    limit: { context: 200_000, output: 64_000 },
  })
  t.match(shownBlocks('codex')[0].text, /^model = "codex\/main"\nmodel_provider = "headgate"\nmodel_context_window = 200000$/m)
  t.ok(texts(shown).every((text) => !text.includes(SECRET)))
})

t.test('what a model declares is in the blocks: images, reasoning and its context', async (t) => {
  const endpoint = '{ provider: sim, model: echo, price: free, supported_parameters: [tools, reasoning] }'
  const config = CONFIG.slice(0, CONFIG.indexOf('aliases:')).replace(
    /acme\/large: .*/,
    `acme/large: { context: 200000, max_output: 64000, input: [text, image], endpoints: [ ${endpoint} ] }`,
  )
  const block = async (agent: string, model: string): Promise<string> => {
    const { out } = await run(t, ['show', agent], { json: true, model }, { config })
    return list((JSON.parse(out) as JsonObject[])[0]?.blocks)
      .map(({ text }) => String(text))
      .join('\n')
  }
  const able: Readonly<Record<string, RegExp[]>> = {
    opencode: [/"attachment": true/, /"image"/, /"reasoning": true/],
    pi: [/"image"/, /"reasoning": true/],
    'qwen-code': [/"image": true/],
    llm: [/^ {2}vision: true$/m],
    aider: [/"supports_vision": true/],
  }
  await every(t, 'every agent', async (t) => {
    for (const [agent, marks] of Object.entries(able)) {
      const [declared, silent] = [await block(agent, 'acme/large'), await block(agent, 'acme/small')]
      for (const mark of marks) {
        t.match(declared, mark, agent)
        t.notMatch(silent, mark, `${agent}: what a model does not declare is not claimed`)
      }
    }
  })
  t.match(await block('qwen-code', 'acme/small'), /"contextWindowSize": 100000/)
  t.match(await block('aider', 'acme/small'), /"openai\/acme\/small": \{[^}]*"max_input_tokens": 100000,\s*"max_output_tokens": 8000/)
  t.match(await block('cline', 'acme/small'), /^cline auth --provider openai-compatible .*--baseurl http:\/\/127\.0\.0\.1:8088\/v1$/)
})

t.test('without the setting the models are named by their slugs', async (t) => {
  const config = CONFIG.slice(0, CONFIG.indexOf('aliases:'))
  const { out } = await run(t, ['show', 'claude-code'], { model: 'acme/small', url: 'https://ai.example.com/' }, { config })
  t.match(out, /Claude Code \(claude-code\), by npm @anthropic-ai\/claude-code 2\.1\.332/)
  t.match(out, '"ANTHROPIC_BASE_URL": "https://ai.example.com"')
  t.match(out, '"ANTHROPIC_DEFAULT_HAIKU_MODEL": "acme/small"')
  t.match(out, '"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "100000"')
  t.match(await run(t, ['show', 'codex'], { model: 'acme/none' }, { config }), { code: 1, error: /no such model: acme\/none/ })
  t.match(await run(t, ['show', 'claude-cod']), { code: 1, error: /did you mean "claude-code"\?/ })
  t.match(await run(t, ['show']), { code: 2 })
  t.match(await run(t, ['list', 'codex']), { code: 2 })
})

t.test('check asks the running gateway and says what would fail', async (t) => {
  const gateway = await startGateway(CONFIG.replace(/^server.*$/m, ''))
  t.teardown(() => gateway.close())
  const check = (agent: string, options: { config?: string; key?: string } = { key: SECRET }) =>
    run(t, ['check', agent], { url: gateway.url }, options)
  await every(t, 'every agent that the configuration names', async (t) => {
    for (const agent of ['claude-code', 'codex', 'opencode']) {
      const { code, out } = await check(agent)
      t.equal(code, 0, `${agent}: ${out}`)
      t.match(out, /^ok {5}GET \/v1\/models$/m)
      t.match(out, /served by acme\/large at sim/)
    }
  })
  const claude = await check('claude-code')
  t.match(claude.out, /^ok {5}main: claude-opus-5-5$/m)
  t.match(claude.out, /left out or changed: .*max_tokens/, 'the cap of 128,000 is lowered')
  t.match(claude.out, /an estimate: the provider counts no tokens/)
  const { code, out } = await check('claude-code', { key: SECRET, config: CONFIG.replace('acme/large, small', 'acme/small, small') })
  t.equal(code, 0, out)
  const wrong = await check('codex', { key: 'sk-router-v1-nobody' })
  t.equal(wrong.code, 1)
  t.match(wrong.out, /^fails {2}main: codex\/main: 401 Invalid API key$/m)
  const unserved = await run(
    t,
    ['check', 'pi'],
    { url: gateway.url, model: 'other/model' },
    { key: SECRET, config: CONFIG.replace('acme/large:', 'other/model:').replaceAll('acme/large', 'other/model') },
  )
  t.equal(unserved.code, 1)
  t.match(unserved.out, /^fails {2}main: other\/model: 404 No such model: other\/model$/m)
  t.match(await check('codex', {}), { code: 1, error: /set HEADGATE_KEY/ })
  t.equal(object(((await (await gateway.get('/v1/key')).json()) as JsonObject).data).usage, 0, 'nothing is charged')
})
