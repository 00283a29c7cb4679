/** `headgate plan`: what would become of a request, from a configuration alone. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type PlanFlags, plan } from '../../src/cli/plan.ts'
import { type Printed, printed } from '../support/printed.ts'
import { runProgram } from '../support/program.ts'

const CONFIG = `
store: { url: "sqlite:./ledger.db" }
auth:
  keys:
    - { name: ops, key: "sk-ops-0123456789", management: true }
    - { name: gone, key: "sk-gone-0123456789", expires_at: "2020-01-01T00:00:00Z" }
    - { name: app, key: "sk-app-0123456789", limit: "2.00" }
    - { name: poor, key: "sk-poor-0123456789", limit: "0.000001" }
providers:
  aye: { name: Aye, dialect: openai-chat, base_url: "\${AYE_URL}", key: "sk-provider-secret", zdr: true }
  bee: { name: Bee, dialect: openai-responses, base_url: "http://127.0.0.1:9/v1", key: "sk-provider-secret" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: aye, model: m, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: bee, model: m, price: { prompt: "2.00", completion: "4.00" } }
guardrails:
  - { name: no-names, content_filters: [ { pattern: aurora, action: block } ] }
`
const ENV = { AYE_URL: 'http://127.0.0.1:9/v1' }
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], seed: 4 }

function scene(t: Test): (request: unknown, flags?: PlanFlags, config?: string) => Promise<Printed> {
  const directory = t.testdir()
  return async (request, flags = {}, config = CONFIG) => {
    const [configFile, requestFile] = [join(directory, 'headgate.yaml'), join(directory, 'request.json')]
    writeFileSync(configFile, config)
    writeFileSync(requestFile, typeof request === 'string' ? request : JSON.stringify(request))
    const shown = await printed((streams) => plan([configFile, requestFile], flags, ENV, streams))
    t.notOk(existsSync(join(directory, 'ledger.db')), 'no store is opened')
    return shown
  }
}

t.test('a table for people', async (t) => {
  const run = scene(t)
  const { code, out, error } = await run({ ...QUESTION, provider: { sort: 'price' } })
  t.same([code, error], [0, ''])
  t.equal(
    out,
    `acme/one (direct) as acme/one
chat format, for the key app

     endpoint  model     prompt  completion  context  lane       why
  1  aye       acme/one  $1      $2          128000   pass       by price
  2  bee       acme/one  $2      $4          128000   translate  by price, drops seed

Hold: $0.133328, of which $0.002256 for the input; the key has $2.00 left.
It counts at most 1128 input tokens and 32768 output tokens.
Input is counted as one token for each byte, which no tokenizer passes, and 1,024 for what a provider adds: more than is used, and the rest is given back.
Plugins: none. Guardrails: no-names.`,
  )
  const zdr = await run({ ...QUESTION, provider: { zdr: true } })
  t.match(zdr.out, / 1 {2}aye .* the only one\n/)
  t.match(
    zdr.out,
    /Left out:\n {2}endpoint +model +filter +reason\n {2}bee +acme\/one +zdr +its provider does not promise zero retention\n/,
  )
  t.match((await run(QUESTION)).out, /drawn by price, first in 80 %/)
  t.notMatch(zdr.out, /secret|sk-/, 'no key is shown')
})

t.test('JSON as POST /v1/plan answers', async (t) => {
  const run = scene(t)
  const { code, out } = await run({ model: 'acme/one', input: 'Hello' }, { json: true })
  t.equal(code, 0)
  t.match(JSON.parse(out), {
    object: 'plan',
    format: 'responses',
    key: 'app',
    candidates: [{ position: 1 }, { position: 2 }],
    guardrails: ['no-names'],
  })
  t.match(JSON.parse((await run({ ...QUESTION, max_tokens: 5, seed: undefined }, { json: true, format: 'messages' })).out), {
    format: 'messages',
  })
})

t.test('an embeddings request', async (t) => {
  const run = scene(t)
  const vectors =
    '  acme/vectors: { kind: embedding, context: 512, endpoints: [ { provider: aye, model: v, price: { prompt: "0.10" }, quirks: { max_batch: 2 } } ] }'
  const config = CONFIG.replace('guardrails:', `${vectors}\nguardrails:`)
  const { code, out, error } = await run({ model: 'acme/vectors', input: ['one', 'two', 'three'], input_type: 'query' }, {}, config)
  t.same([code, error], [0, ''])
  t.match(out, /^acme\/vectors \(direct\) as acme\/vectors\nembeddings format, inputs: 3, for the key app\n/)
  t.match(out, / 1 {2}aye +acme\/vectors +\$0\.1 +\S+ +512 +translate +the only one, 2 calls, 2 at once, drops input_type\n/)
  t.match(out, /\nIt counts at most \d+ input tokens\.\nInput is counted as one token for each byte/)
  const json = await run({ model: 'acme/vectors', input: 'one' }, { json: true, format: 'embeddings' }, config)
  t.match(JSON.parse(json.out), { format: 'embeddings', inputs: 1, candidates: [{ calls: { count: 1 } }], hold: { output_cap: 0 } })
  t.match(await run({ model: 'acme/one', input: ['one'] }, {}, config), {
    code: 1,
    error: /refused with 404: model: acme\/one is a model that/,
  })
})

t.test('a refusal is exit code 1, with the error of the request', async (t) => {
  const run = scene(t)
  const none = await run({ ...QUESTION, provider: { only: ['bee'], zdr: true } })
  t.match(none, {
    code: 1,
    out: '',
    error: /^refused with 404: No endpoint can serve acme\/one.*\n\nLeft out:\n.*\n {2}aye .* only .*\n {2}bee .* zdr /s,
  })
  t.match(await run({ ...QUESTION, model: 'acme/none' }), { code: 1, error: 'refused with 404: No such model: acme/none' })
  t.match(await run({ ...QUESTION, messages: [{ role: 'user', content: 'aurora' }] }), {
    code: 1,
    error: /refused with 403: Request blocked by content filter/,
  })
  t.match(await run(QUESTION, { key: 'poor' }), { code: 1, error: /refused with 402: Insufficient credits/ })
  t.match(await run(QUESTION, { key: 'ops' }), { code: 1, error: /refused with 403: Only keys of the role member/ })
  t.match(await run(QUESTION, { key: 'gone' }), { code: 1, error: /refused with 401/ })
  t.match(await run('{"model":'), { code: 1, error: /refused with 400: body: expected valid JSON/ })
  const json = await run({ ...QUESTION, model: 'acme/none' }, { json: true })
  t.match([json.code, JSON.parse(json.out)], [1, { error: { code: 404, metadata: { error_type: 'not_found' } } }])
})

t.test('what cannot be read', async (t) => {
  const run = scene(t)
  t.match(await run(QUESTION, { key: 'nobody' }), { code: 1, error: 'headgate: no key nobody; expected one of: ops, gone, app, poor' })
  t.match(await run(QUESTION, { format: 'gemini' }), {
    code: 2,
    error: /--format: expected one of: responses, chat, messages, embeddings, found gemini/,
  })
  t.match(await run(QUESTION, {}, CONFIG.replace('dialect: openai-chat', 'dialect: openai-chatt')), {
    code: 1,
    error: /headgate\.yaml:10:\d+: .*openai-chatt/,
  })
  const [keys] = /auth:[\s\S]*(?=providers:)/.exec(CONFIG) ?? ['']
  const managing = CONFIG.replace(keys, 'auth: { keys: [ { name: ops, key: "sk-ops-0123456789", management: true } ] }\n')
  t.match(await run(QUESTION, {}, managing), { code: 1, error: 'headgate: no key of the configuration may generate' })
  const directory = t.testdir({ 'headgate.yaml': CONFIG })
  const args = [join(directory, 'headgate.yaml'), join(directory, 'none.json')] as const
  t.match(await printed((streams) => plan(args, {}, ENV, streams)), { code: 1, error: /^headgate: .*none\.json.*$/ })
})

t.test('the program itself', async (t) => {
  const directory = t.testdir({ 'headgate.yaml': CONFIG, 'request.json': JSON.stringify(QUESTION) })
  const args = ['plan', join(directory, 'headgate.yaml'), join(directory, 'request.json')]
  const good = runProgram([...args, '--key', 'app'], { cwd: directory, env: ENV })
  const refused = runProgram([...args, '--key=poor', '--json'], { cwd: directory, env: ENV })
  t.same(await good.exited, { code: 0, signal: null })
  t.match(good.out(), /^acme\/one \(direct\)/)
  t.match(await refused.exited, { code: 1 })
  t.match(JSON.parse(refused.out()), { error: { code: 402 } })
  t.notOk(existsSync(join(directory, 'ledger.db')))
})
