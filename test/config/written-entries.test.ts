/** Shown text of a configuration's files: never a secret. */
import t from 'tap'
import { writtenEntries } from '../../src/config/written-entries.ts'

const TEXT = `server: { port: 8080 }
store: { url: "postgres://headgate:hunter2@db/headgate?sslkey=hunter2" }
auth:
  keys: [{ name: app, key: "\${APP_KEY:-hunter2}" }, { name: ops, key: "\${vault:secret/data/app#key}" }]
providers:
  acme:
    dialect: openai-chat
    base_url: "\${ACME_URL:-https://u:hunter2@acme.example/v1}"
    key: "\${ACME_KEY?}"
    headers: { x-team: "hunter2", authorization: "Bearer \${ACME_TOKEN}" }
plugins:
  defaults: { mine: { endpoint: "hunter2", size: 3 } }
models:
  acme/one: { name: "sk-hunter2hunter2", endpoints: [] }
`

t.test('values of secrets are left out, their references stay', async (t) => {
  const { entries, leftOut } = writtenEntries([{ file: 'a.yaml', text: TEXT }], '', 100)
  t.notMatch(JSON.stringify(entries), 'hunter2')
  t.equal(leftOut, 0)
  const found = Object.fromEntries(entries.map(({ path, value }) => [path, value]))
  t.same(found, {
    'server.port': 8080,
    'store.url': '***',
    'auth.keys[0].name': 'app',
    'auth.keys[0].key': `\${APP_KEY:-***}`,
    'auth.keys[1].name': 'ops',
    'auth.keys[1].key': `\${vault:secret/data/app#key}`,
    'providers.acme.dialect': 'openai-chat',
    'providers.acme.base_url': `\${ACME_URL:-https://***@acme.example/v1}`,
    'providers.acme.key': `\${ACME_KEY?}`,
    'providers.acme.headers.x-team': '***',
    'providers.acme.headers.authorization': `***\${ACME_TOKEN}`,
    'plugins.defaults.mine.endpoint': '***',
    'plugins.defaults.mine.size': 3,
    'models["acme/one"].name': '***',
    'models["acme/one"].endpoints': [],
  })
})

t.test('places are those of the file, and a bound holds', async (t) => {
  const { entries, leftOut } = writtenEntries([{ file: 'a.yaml', text: TEXT }], 'providers.acme', 2)
  t.match(entries, [{ path: 'providers.acme.dialect', file: 'a.yaml', line: 7, column: 14 }, { line: 8 }])
  t.equal(entries.length, 2)
  t.equal(leftOut, 3)
})

t.test('keys in paths of addresses and in words of commands are left out as well', async (t) => {
  const text = `events: { receivers: [ { url: "https://hooks.example/services/T00HUNTER2/hunter2" }, { url: "https://h.example/Hunter2" } ] }
telemetry: { endpoint: "https://otlp.example/otlp/hunter2/v1/traces" }
guardrails: [ { engine: { type: webhook, url: "https://engine.example:8443/hunter2-x/#hunter2" } } ]
providers:
  one: { base_url: "https://one.example/proxy/hunter2/openai/v1" }
  two: { base_url: "https://two.example/compatible-mode/v1" }
  three: { base_url: "\${URL:-https://three.example/hook/hunter2/x}" }
  four: { base_url: "https://four.example/v1/\${PART}/x\${PART:-hunter2}" }
plugins:
  defaults:
    web: { engines: { searxng: { url: "http://search.example/s/hunter2" } } }
    shell: { sandbox: { type: command, command: [docker, run, -e, "TOKEN=hunter2", --password, hunter2, "-phunter2", "{name}"], stop: [docker, hunter2] } }
`
  const { entries } = writtenEntries([{ file: 'a.yaml', text }], '', 100)
  t.notMatch(JSON.stringify(entries), /hunter2/i)
  const found = Object.fromEntries(entries.map(({ path, value }) => [path, value]))
  t.match(found, {
    'events.receivers[0].url': 'https://hooks.example/services/***/***',
    'events.receivers[1].url': 'https://h.example/***',
    'telemetry.endpoint': 'https://otlp.example/otlp/***/v1/traces',
    'providers.one.base_url': 'https://one.example/proxy/***/openai/v1',
    'providers.two.base_url': 'https://two.example/compatible-mode/v1',
    'providers.four.base_url': `https://four.example/v1/\${PART}/***\${PART:-***}`,
    'plugins.defaults.shell.sandbox.command[0]': 'docker',
    'plugins.defaults.shell.sandbox.command[2]': '-e',
    'plugins.defaults.shell.sandbox.command[3]': '***',
    'plugins.defaults.shell.sandbox.command[7]': '{name}',
  })
})
