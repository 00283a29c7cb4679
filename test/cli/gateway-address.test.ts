/** Address of the gateway that a command finds: without the variables of the gateway's own configuration, by its address, and what it says where it cannot. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { plainNode, runProgram, serveProgram } from '../support/program.ts'

t.setTimeout(240_000)

const SECRETS = { APP_KEY: 'sk-app-0123456789abcdef', PROVIDER_KEY: 'unused', STORE: 'sqlite:./ledger.db' }

async function running(t: Test, token = `, token: ${ADMIN_TOKEN}`, store = 'sqlite:./ledger.db') {
  const [port, admin] = await freePorts(2)
  const home = t.testdir({
    elsewhere: {},
    'headgate.yaml': `
server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}${token} }
store: { url: "${store}" }
auth: { keys: [ { name: app, key: "\${APP_KEY}" } ] }
providers:
  sim: { dialect: sim }
  other: { dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", key: "\${PROVIDER_KEY}" }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] }
  other/one: { endpoints: [ { provider: other, model: one, price: free } ] }
`,
  })
  const gateway = await serveProgram(['--config', 'headgate.yaml'], { cwd: home, env: SECRETS })
  t.teardown(() => gateway.child.kill('SIGKILL'))
  return { home, gateway, admin: gateway.admin, ports: [port, admin] as const }
}

async function utterance(words: string, options: { cwd: string; env?: Record<string, string> }) {
  const program = runProgram(words.split(' '), options)
  const { code } = await program.exited
  return { code, out: program.out(), err: program.err() }
}

const VERBS = [
  'keys list',
  'credits',
  'sessions',
  'events',
  'guardrails list',
  'compaction list',
  'ledger entries',
  'ledger verify',
  'providers drift',
]

t.test('a configuration names its gateway without the variables of its keys and providers', async (t) => {
  const { home } = await running(t)
  for (const verb of VERBS) t.match(await utterance(`${verb} --config headgate.yaml`, { cwd: home }), { code: 0, err: '' }, verb)
  t.match(await utterance(`keys list --config ${join(home, 'headgate.yaml')}`, { cwd: join(home, 'elsewhere') }), { code: 0, out: /app / })
})

t.test('nor that of its store, where the token stands in the file', async (t) => {
  const { home } = await running(t, undefined, ['$', '{STORE}'].join(''))
  t.match(await utterance('keys list --config headgate.yaml', { cwd: home }), { code: 0, out: /app / })
})

t.test('an address and a token are enough', async (t) => {
  const { home, admin } = await running(t)
  const cwd = join(home, 'elsewhere')
  const env = { HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN }
  for (const verb of VERBS) t.match(await utterance(`${verb} --url ${admin}`, { cwd, env }), { code: 0, err: '' }, verb)
  t.match(await utterance('keys list', { cwd, env: { ...env, HEADGATE_ADMIN_URL: `${admin}/` } }), { code: 0, out: /app / })
  t.match(await utterance('health', { cwd, env: { HEADGATE_ADMIN_URL: admin } }), { code: 0, err: '' })
  t.match(await utterance('health', { cwd, env: { HEADGATE_ADMIN_URL: 'http://127.0.0.1:1' } }), {
    code: 1,
    err: /127\.0\.0\.1:1\/healthz/,
  })
  t.match(await utterance(`keys list --url ${admin}`, { cwd }), { code: 1, err: /refused: set HEADGATE_ADMIN_TOKEN to its admin token/ })
  const wrong = { HEADGATE_ADMIN_TOKEN: 'not-the-token-of-this-one' }
  const refused = await utterance(`keys list --url ${admin}`, { cwd, env: wrong })
  t.match(refused, { code: 1, err: /refused: HEADGATE_ADMIN_TOKEN is not the token of the gateway that runs there/ })
  t.notMatch(refused.err, wrong.HEADGATE_ADMIN_TOKEN, 'no token is shown')
  t.match(await utterance('keys list --url 127.0.0.1:8081', { cwd, env }), {
    code: 1,
    err: /expected the address of an admin listener such as/,
  })
  const [free] = await freePorts(1)
  t.match(await utterance(`keys list --url http://127.0.0.1:${free}`, { cwd, env }), {
    code: 1,
    err: new RegExp(`no gateway listens at http://127\\.0\\.0\\.1:${free}`),
  })
})

t.test('a token of the start is found beside the store, or in the environment', async (t) => {
  const { home } = await running(t, '')
  t.match(await utterance('keys list --config headgate.yaml', { cwd: home }), { code: 0, out: /app / })
  const away = await utterance(`keys list --config ${join(home, 'headgate.yaml')}`, { cwd: join(home, 'elsewhere') })
  t.match(away, { code: 1, err: /run the command in its directory and as its account, or set admin\.token or HEADGATE_ADMIN_TOKEN/ })
})

t.test('a port that is taken: which setting, and what to do', async (t) => {
  const { home, ports } = await running(t)
  const [port, admin] = ports
  for (const workers of ['', ' --workers 1']) {
    const taken = await utterance(`serve --port ${port} --admin-port 0${workers}`, { cwd: join(home, 'elsewhere') })
    t.match(taken, { code: 1, err: new RegExp(`server\\.port: 127\\.0\\.0\\.1:${port}: another program listens there: .*--port`) })
    const second = await utterance(`serve --port 0 --admin-port ${admin}${workers}`, { cwd: join(home, 'elsewhere') })
    t.match(second, { code: 1, err: new RegExp(`admin\\.port: 127\\.0\\.0\\.1:${admin}: another program listens there: .*--admin-port`) })
  }
  t.match(await utterance('serve --admin-port 65536', { cwd: join(home, 'elsewhere') }), {
    code: 2,
    err: /--admin-port: expected a number from 0 to 65535, found 65536/,
  })
})

t.test('a command ends without an error when its reader closes the pipe', async (t) => {
  const { home } = await running(t)
  const [command, args] = plainNode([LAUNCHER])
  const line = (words: string): string => `${[command, ...args].join(' ')} ${words} | head -n 1`
  for (const words of ['--help', 'check --chain', 'keys list --config headgate.yaml', 'providers list --json', 'models list --json']) {
    const { code, out, err } = await new Promise<{ code: number; out: string; err: string }>((resolve) => {
      execFile('bash', ['-c', `set -o pipefail; ${line(words)}`], { cwd: home }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      )
    })
    t.match({ code, err, lines: out.split('\n').length }, { code: 0, err: '', lines: 2 }, words)
  }
})
