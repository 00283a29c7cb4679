/** The help of every verb: short, with an example that runs and a page that is there; and what the program says to words that are no verb. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import t, { type Test } from 'tap'
import { commandLine } from '../../src/cli/main.ts'
import { Verb } from '../../src/cli/verbs/verb.ts'
import { ROOT } from '../repository/source-tree.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { runProgram, serveProgram } from '../support/program.ts'

t.setTimeout(600_000)

const APP = 'sk-app-0123456789abcdef'

interface Shown {
  /** The words that name it: `keys create`. */
  readonly name: string
  readonly verb: Verb
}

function shownVerbs(command: Command, above: readonly string[] = []): Shown[] {
  return command.commands.flatMap((verb) => {
    if (!(verb instanceof Verb) || verb.name() === 'help') return []
    const words = [...above, verb.name()]
    return [{ name: words.join(' '), verb }, ...shownVerbs(verb, words)]
  })
}

const verbs = shownVerbs(commandLine())

t.test('each verb has help of less than 30 lines, with an example and a page of the documents', async (t) => {
  t.ok(verbs.length > 40, 'all verbs are looked at')
  for (const { name, verb } of verbs) {
    const program = runProgram([...name.split(' '), '--help'])
    t.match(await program.exited, { code: 0 }, name)
    const lines = program.out().trimEnd().split('\n')
    t.ok(lines.length < 30, `${name}: ${lines.length} lines`)
    t.ok(
      lines.every((line) => line.length <= 120),
      `${name}: no line runs out of a terminal`,
    )
    t.match(program.out(), `Example:\n  headgate ${name}`, `${name}: the example is one of this verb`)
    t.ok(existsSync(join(ROOT, verb.facts?.page ?? 'none')), `${name}: ${verb.facts?.page}`)
  }
})

t.test('the first page, help and version', async (t) => {
  const [bare, help, ofVerb, version, word] = ['--help', 'help', 'help plan', '--version', 'version'].map((words) =>
    runProgram(words.split(' ')),
  )
  for (const program of [bare, help, ofVerb, version, word]) t.match(await program?.exited, { code: 0 })
  t.equal(bare?.out(), help?.out())
  t.match(bare?.out(), /^Serve:$[\s\S]*^Models and providers:$[\s\S]*^Keys and policy:$[\s\S]*^Records:$/m)
  t.match(ofVerb?.out(), /^Usage: headgate plan /)
  t.match(version?.out(), /^\d+\.\d+\.\d+\n$/)
  t.equal(version?.out(), word?.out())
})

t.test('words that make no command', async (t) => {
  const cases: [string, RegExp][] = [
    ['keys crate', /unknown command 'crate'\n\(Did you mean create\?\)/],
    ['modles', /unknown command 'modles'\n\(Did you mean models\?\)/],
    ['plan', /missing required argument 'FILE'/],
    ['keys create ada --limt 3', /unknown option '--limt'\n\(Did you mean --limit\?\)/],
    ['ledger refund 3', /required option '--reason <TEXT>' not specified/],
    ['serve now', /too many arguments for 'serve'/],
    ['keys list --config', /option '-c, --config <FILE>' argument missing/],
  ]
  for (const [words, utterance] of cases) {
    const program = runProgram(words.split(' '))
    t.match(await program.exited, { code: 2 }, words)
    t.match(program.err(), utterance, words)
    t.equal(program.out(), '', words)
  }
})

/** Things that examples name: files, a provider with a list, a key of the store, an event, a guardrail. */
async function exampleFolder(t: Test): Promise<{ home: string; admin: string }> {
  const list = createServer(
    (_, response) => void response.end(JSON.stringify({ object: 'list', data: [{ id: 'small', object: 'model' }] })),
  )
  t.teardown(() => list.close())
  await new Promise<void>((resolve) => list.listen(0, '127.0.0.1', resolve))
  const local = `http://127.0.0.1:${(list.address() as AddressInfo).port}`
  const [port, admin] = await freePorts(2)
  const files = {
    'litellm.yaml': 'model_list: [{ model_name: chat, litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY } }]',
    'research.key': 'sk-proj-of-the-research-team',
    'request.json': JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    'prices.json': JSON.stringify({
      'gpt-5-mini': { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
    }),
    'policy-tests': {
      'one.yaml':
        'config: ../headgate.yaml\ntests:\n  - { name: served, key: app, request: { model: sim/echo, input: Hello }, expect: { order: [sim] } }\n',
    },
    'keys.csv': `hash,name\n${'e'.repeat(64)},imported\n`,
    'headgate.yaml': `
server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "sqlite:./ledger.db" }
auth: { keys: [ { name: app, key: "${APP}", limit: "5.00" } ] }
byok: { encryption_keys: [ "${Buffer.alloc(32, 1).toString('base64')}" ] }
events:
  receivers: [ { name: pager, url: "${local}/events", secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" } ]
guardrails: [ { name: no-secrets, phrases: [ secret ], action: flag } ]
providers:
  sim: { dialect: sim }
  local: { dialect: openai-chat, base_url: "${local}/v1", key: none }
  openai: { preset: openai, key: sk-none }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] }
  openai/gpt-5-mini: { endpoints: [ { provider: openai, model: gpt-5-mini, price: { prompt: "1", completion: "2" } } ] }
  local/large: { endpoints: [ { provider: local, model: large, price: free } ] }
`,
  }
  // One gateway holds a store, so the one that an example starts has a folder of its own.
  const apart = { 'headgate.yaml': files['headgate.yaml'].replace(String(admin), '0') }
  const home = t.testdir({ ...files, apart })
  return { home, admin: `http://127.0.0.1:${admin}` }
}

/** Examples for a person at an identity provider; test/cli/login.test.ts runs these verbs. */
const WITH_A_PERSON: ReadonlySet<string> = new Set(['login', 'token', 'logout'])

/** Examples that call a service of a cloud; test/gateway/operations/key-services.test.ts runs them. */
const WITH_A_CLOUD: ReadonlySet<string> = new Set(['byok wrap-key'])

t.test('each example runs as it stands', async (t) => {
  const { home, admin } = await exampleFolder(t)
  const gateway = await serveProgram(['--config', 'headgate.yaml'], { cwd: home })
  t.teardown(() => gateway.child.kill('SIGKILL'))
  // Where an example names no configuration, another gateway of this machine may have the usual port.
  const token = readFileSync(join(home, 'ledger.db.admin-token'), 'utf8').trim()
  const env = { HEADGATE_KEY: APP, HEADGATE_ADMIN_URL: admin, HEADGATE_ADMIN_TOKEN: token }
  const run = async (words: readonly string[]): Promise<string> => {
    const program = runProgram(words, { cwd: home, env })
    t.match(await program.exited, { code: 0 }, `${words.join(' ')}\n${program.err()}`)
    return program.out()
  }
  await run(['keys', 'create', 'reports', '--limit', '1.00', '--config', 'headgate.yaml'])
  await run(['keys', 'create', 'auditor', '--role', 'viewer', '--config', 'headgate.yaml'])
  await run(['compaction', 'rotate', '--config', 'headgate.yaml'])
  const generation = await askGeneration(gateway.url)
  const [event = ''] = /evt_\w+/.exec(await run(['events', 'list', '--config', 'headgate.yaml'])) ?? []
  for (const { name, verb } of verbs.filter(({ name }) => !WITH_A_PERSON.has(name) && !WITH_A_CLOUD.has(name))) {
    const words = [...(verb.facts?.example ?? '').matchAll(/"([^"]*)"|(\S+)/g)]
      .map(([, quoted, bare]) => quoted ?? bare ?? '')
      .map((word) =>
        word.startsWith('evt_')
          ? event
          : word.startsWith('gen-')
            ? generation
            : word === 'http://127.0.0.1:8081'
              ? admin
              : word === '8080'
                ? '0'
                : word,
      )
    if (name === 'serve') (await serveProgram(words, { cwd: join(home, 'apart'), env })).child.kill('SIGKILL')
    else await run(words)
  }
})

/** Id of a request that has been answered. */
async function askGeneration(url: string): Promise<string> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${APP}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  if (reply.status !== 200) throw new Error(await reply.text())
  await reply.arrayBuffer()
  return reply.headers.get('x-generation-id') ?? ''
}
