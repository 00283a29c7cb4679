/** What is shown of a configuration's files: never a secret. */
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
