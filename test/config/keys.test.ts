// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold variables of their own
import { createHash } from 'node:crypto'
import t from 'tap'
import type { Config } from '../../src/config/config.ts'
import { expand } from '../../src/config/expand.ts'
import { DEVELOPMENT_KEY, isLoopback, resolveKeys } from '../../src/config/keys.ts'
import { loadConfig } from '../../src/config/load.ts'
import { bytes, milliseconds } from '../../src/config/units.ts'
import { makeSecret, maskSecret } from '../../src/core/secret.ts'
import { every } from '../support/every.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const SIM = 'sim: { dialect: sim }'
const REAL = 'real: { dialect: openai-chat, base_url: "http://127.0.0.1:1", key: "${REAL_KEY?}" }'

function config(auth: string, env: Record<string, string> = {}, providers = SIM): Config {
  const models = 'models: { a/b: { endpoints: [ { provider: sim, model: echo }, { provider: sim, model: echo, variant: x } ] } }'
  const used = providers.includes('real') ? models.replace('provider: sim, model: echo, variant: x', 'provider: real, model: m') : models
  return loadConfig('f.yaml', env, { text: `providers: { ${providers} }\n${used}\n${auth}` })
}

t.test('named keys', async (t) => {
  const named = config(`
limits: { requests: 60, streams: 5 }
auth:
  keys:
    - { name: app, key: "sk-app-0123456789abcdef", limit: "1.5", limits: { requests: 10 }, provider: { only: [ sim ] } }
    - { name: ops, key: "\${OPS_KEY?}", management: true }
`)
  const reset = config('auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit: "1", limit_reset: weekly } ] }')
  t.match(resolveKeys(reset).keys, [{ limit: 1_000_000_000, limitReset: 'weekly' }])
  t.throws(() => config('auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit_reset: hourly } ] }'), /limit_reset.*daily/)
  const { keys, generated } = resolveKeys(named)
  t.equal(generated, undefined)
  t.equal(named.developmentKey, false)
  t.same(keys, [
    {
      identity: 'app',
      hash: sha256('sk-app-0123456789abcdef'),
      label: 'sk-a...cdef',
      name: 'app',
      role: 'member',
      disabled: false,
      limit: 1_500_000_000,
      limitReset: null,
      expiresAt: null,
      allowedModels: undefined,
      provider: { only: ['sim'] },
      limits: { requests: 10, streams: 5 },
      passThrough: false,
    },
  ])
})

t.test('an entry with a set ${NAME?} is there', async (t) => {
  const named = config('auth: { keys: [ { name: ops, key: "${OPS_KEY?}", management: true } ] }', { OPS_KEY: 'sk-ops-secret' })
  t.match(resolveKeys(named).keys, [{ name: 'ops', hash: sha256('sk-ops-secret'), role: 'owner', limit: null }])
  const roles = (fields: string) =>
    resolveKeys(config(`auth: { keys: [ { name: ops, key: "sk-ops-0123456789abcdef", ${fields} } ] }`)).keys.map(({ role }) => role)
  t.same(['role: viewer', 'role: billing', 'role: owner, management: true', 'management: false'].flatMap(roles), [
    ...['viewer', 'billing', 'owner', 'member'],
  ])
  t.throws(() => roles('role: viewer, management: true'), /role: management: true is the role owner, expected one of both fields/)
  t.throws(() => roles('role: superuser'), /unknown value "superuser"/)
})

t.test('no keys named: the development key, as long as no provider has one', async (t) => {
  const plain = config('', {}, `${SIM}, ${REAL}`)
  t.equal(plain.developmentKey, true)
  t.same(plain.skipped, ['real'])
  const { keys, generated } = resolveKeys(plain)
  t.equal(generated, undefined)
  t.match(keys, [{ identity: 'dev', hash: sha256(DEVELOPMENT_KEY), limit: null }])
})

t.test('no keys named, and a provider with a key: a random one', async (t) => {
  const real = config('', { REAL_KEY: 'upstream' }, `${SIM}, ${REAL}`)
  t.equal(real.developmentKey, false)
  let part = 0
  const { keys, generated } = resolveKeys(real, () => `part${++part}`)
  t.equal(generated, 'sk-router-v1-part1part2')
  t.match(keys, [{ identity: 'dev', hash: sha256('sk-router-v1-part1part2') }])
  t.equal(keys.length, 1)
  const [one, two] = [resolveKeys(real).generated, resolveKeys(real).generated]
  t.match(one, /^sk-router-v1-[A-Za-z0-9_-]{24}$/)
  t.not(one, two)
})

t.test('no keys named: HEADGATE_DEV_KEY is the key, whatever the providers have', async (t) => {
  const environments: Record<string, string>[] = [
    { HEADGATE_DEV_KEY: 'sk-of-my-own' },
    { HEADGATE_DEV_KEY: 'sk-of-my-own', REAL_KEY: 'upstream' },
  ]
  for (const env of environments) {
    const own = config('', env, `${SIM}, ${REAL}`)
    t.equal(own.developmentKey, false)
    const { keys, generated } = resolveKeys(own)
    t.equal(generated, undefined)
    t.match(keys, [{ identity: 'dev', hash: sha256('sk-of-my-own') }])
  }
})

t.test('an empty list of keys means none', async (t) => {
  const none = config('auth: { keys: [ ] }')
  t.equal(none.developmentKey, false)
  t.same(resolveKeys(none), { keys: [] })
})

t.test('the development key beyond loopback', async (t) => {
  const open = config('')
  open.server.host = '0.0.0.0'
  t.throws(() => resolveKeys(open), /only while listening on loopback/)
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) t.ok(isLoopback(host), host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '128.0.0.1', '127.0.0.1.example.org', '']) t.notOk(isLoopback(host), host)
  t.throws(
    () =>
      loadConfig(
        'f.yaml',
        {},
        { text: `providers: { ${SIM} }\nmodels: { a/b: { endpoints: [ { provider: sim, model: x } ] } }`, host: '::' },
      ),
    {
      message: /^f\.yaml:1:1: server\.host: the development key/,
    },
  )
})

t.test('masks show little', async (t) => {
  t.equal(maskSecret('sk-router-v1-dev'), 'sk-r...-dev')
  t.equal(maskSecret('12345678'), '12...78')
  t.equal(maskSecret('abcdefghijklmnopqrstuvwxyz'), 'abcd...wxyz')
  t.equal(maskSecret('sk-router-v1-0123456789abcdef'), 'sk-r...cdef')
  const { secret, hash, label } = makeSecret('acme')
  t.match(secret, /^sk-acme-v2-[0-9a-f]{64}$/)
  t.equal(hash, sha256(secret))
  t.equal(label, `${secret.slice(0, 14)}...${secret.slice(-4)}`)
  t.not(makeSecret('acme').secret, secret)
})

t.test('variables', async (t) => {
  const env = { A: 'one', B: '', C: '${A}', D: 'x$1$&' }
  const text = (source: string): string => expand(source, env).text
  t.equal(text('plain $A $ {'), 'plain $A $ {')
  t.equal(text('${A}'), 'one')
  t.equal(text('<${A}-${A}>'), '<one-one>')
  t.equal(text('${B:-two}'), 'two', 'empty counts as unset')
  t.equal(text('${X:-}'), '')
  t.equal(text('${X:-a:-b}'), 'a:-b')
  t.equal(text('${C}'), '${A}', 'values are not expanded again')
  t.equal(text('${D}'), 'x$1$&')
  t.equal(text('$${A}'), '${A}')
  t.same(expand('${X?}', env), { text: '', expanded: true, unset: 'X' })
  t.same(expand('${A?}', env), { text: 'one', expanded: true })
  t.match(expand('${X}', env).problem, /variable X is not set/)
  for (const bad of ['${', '${}', '${1A}', '${A-b}', '${A', '${A:?b}', '${ A }']) t.match(expand(bad, env).problem, /malformed/, bad)
})

t.test('units', async (t) => {
  t.same(['250ms', '5s', '10m', '2h', '3d', '0s'].map(milliseconds), [250, 5000, 600_000, 7_200_000, 259_200_000, 0])
  t.same(['1B', '2KB', '32MB', '1GB'].map(bytes), [1, 2048, 33_554_432, 1_073_741_824])
  await every(t, 'every bad', async (t) => {
    for (const bad of ['', '5', 's', '1.5s', '-1s', '1 s', '1w', '1234567890s']) t.throws(() => milliseconds(bad), RangeError, bad)
  })
})

t.test('a number or a flag from a variable', async (t) => {
  const text = (port: string) =>
    `server: { port: "${port}" }\nproviders: { ${SIM} }\nmodels: { a/b: { endpoints: [ { provider: sim, model: x } ] } }`
  t.equal(loadConfig('f.yaml', { PORT: '81' }, { text: text('${PORT:-80}') }).server.port, 81)
  t.equal(loadConfig('f.yaml', {}, { text: text('${PORT:-80}') }).server.port, 80)
  t.throws(() => loadConfig('f.yaml', {}, { text: text('80') }), /expected a whole number/)
})
