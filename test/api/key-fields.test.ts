/** The configuration and the API have the same fields of a key, and what they state holds in the same way. */

import t, { type Test } from 'tap'
import type { TSchema } from 'typebox'
import { checkChanges, checkMaking } from '../../src/api/key-body.ts'
import { keyFields } from '../../src/cli/key-options.ts'
import { key as fileKey } from '../../src/config/schema/keys.ts'
import { asObjects, type JsonObject } from '../../src/core/json.ts'
import { KEY_FIELDS } from '../../src/core/key-fields.ts'
import { every } from '../support/every.ts'
import type { Gateway } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const FILE = 'sk-router-v1-file-0123456789abcdef'
const OWN = 'sk-router-v1-own0-0123456789abcdef'

const properties = (schema: TSchema): string[] => Object.keys((schema as unknown as { properties: object }).properties)

/** Fields that one side lacks, each with the reason. */
const FILE_ALONE: Readonly<Record<string, string>> = {
  name: 'the identity of the key: the API takes any text as a label, and requires it when a key is made',
  key: 'the API makes secrets, and takes those that are there by their hashes (POST /v1/keys/import)',
  management: 'the same as role: owner',
  workspace: 'workspace_id in the API, as clients of it send it',
  member: 'member_id in the API',
  organization: 'organization_id in the API',
}
const API_ALONE: Readonly<Record<string, string>> = {
  name: 'see above',
  include_byok_in_limit: 'keys that teams bring stand in the store',
  workspace_id: 'workspace in the file',
  member_id: 'member in the file',
  organization_id: 'organization in the file',
}

t.test('the file and the API have the same fields but for a few', async (t) => {
  const shared = Object.keys(KEY_FIELDS)
  t.same(
    properties(fileKey)
      .filter((name) => !(name in FILE_ALONE))
      .sort(),
    [...shared].sort(),
    'the file',
  )
  t.same(
    properties(checkMaking.schema)
      .filter((name) => !(name in API_ALONE))
      .sort(),
    [...shared].sort(),
    'POST /v1/keys',
  )
  t.same(
    properties(checkChanges.schema)
      .filter((name) => !(name in API_ALONE))
      .sort(),
    [...shared].sort(),
    'PATCH /v1/keys/{hash}',
  )
  for (const reason of Object.values({ ...FILE_ALONE, ...API_ALONE })) t.ok(reason)
})

/** A call costs exactly $1. Both providers have the model. */
const configuration = (upstream: string): string => `
auth:
  keys:
    - { name: boss, key: "${BOSS}", management: true }
    - { name: own, key: "${OWN}" }
    - name: file
      key: "${FILE}"
      creator_user_id: ann
      limit: "5"
      limit_reset: daily
      expires_at: "2027-01-31T00:00:00Z"
      allowed_models: [ "acme/*" ]
      provider: { only: [ second ], sort: price, max_price: { prompt: "3.00" } }
      limits: { requests: 3, tokens: 100000, streams: 4, bytes: 1MB }
      default_max_output: 77
      pass_through: true
      provider_ids: [ file-abc ]
      error_code: name
      capture_content: true
      tags: { team: growth, env: production }
providers:
  first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-one" }
  second: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-two" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: m1, price: { prompt: "1", completion: "1" } }
      - { provider: second, model: m2, price: { prompt: "2", completion: "2" } }
  other/two: { endpoints: [ { provider: second, model: m3, price: { prompt: "1", completion: "1" } } ] }
`

/** The same as the API states it. */
const STATED = {
  creator_user_id: 'ann',
  limit: 5,
  limit_reset: 'daily',
  expires_at: '2027-01-31T00:00:00Z',
  allowed_models: ['acme/*'],
  provider: { only: ['second'], sort: 'price', max_price: { prompt: '3.00' } },
  limits: { requests: 3, tokens: 100_000, streams: 4, bytes: 1024 * 1024 },
  default_max_output: 77,
  pass_through: true,
  provider_ids: ['file-abc'],
  error_code: 'name',
  capture_content: true,
  tags: { team: 'growth', env: 'production' },
}

interface Reply {
  readonly status: number
  readonly body: JsonObject
}

async function call({ url }: Gateway, route: string, body?: JsonObject | string, secret = BOSS): Promise<Reply> {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body)
  const response = await fetch(`${url}/v1${path}`, { method, headers, body: text })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const data = ({ body }: Reply): JsonObject => (body.data ?? {}) as JsonObject

async function scene(t: Test) {
  const found = await startScene(t, { config: configuration })
  const make = async (fields: JsonObject = {}) => {
    const reply = await call(found.gateway, 'POST /keys', { name: 'made', ...fields })
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
    return { secret: String(reply.body.key), hash: String(data(reply).hash), shown: data(reply) }
  }
  return { ...found, make }
}

const ASKING = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

t.test('a key of the store is shown and served as one of the file', async (t) => {
  const { gateway, upstream, make } = await scene(t)
  const { secret, shown } = await make(STATED)
  const listed = asObjects((await call(gateway, 'GET /keys')).body.data)
  const ofFile = listed.find(({ name }) => name === 'file') ?? {}
  const own = ['hash', 'name', 'label', 'created_at', 'updated_at', 'source']
  const without = (key: JsonObject) => Object.fromEntries(Object.entries(key).filter(([name]) => !own.includes(name)))
  t.same(without(shown), without(ofFile))
  t.match(shown, { ...STATED, expires_at: '2027-01-31T00:00:00.000Z' })

  const outcomes = async (key: string) => {
    const from = upstream.requests.length
    const served = await call(gateway, 'POST /chat/completions', ASKING, key)
    const [sent] = upstream.requests.slice(from)
    const other = await call(gateway, 'POST /chat/completions', { ...ASKING, model: 'other/two' }, key)
    const plain = await call(gateway, 'POST /chat/completions', ASKING, key)
    const many = await call(gateway, 'POST /chat/completions', ASKING, key)
    const body = JSON.parse(sent?.body ?? '{}') as JsonObject
    const { error: refused } = other.body as { error: JsonObject }
    const { error: limited } = many.body as { error: JsonObject }
    return {
      served: served.status,
      sent: { model: body.model ?? null, cap: body.max_tokens ?? null },
      other: other.status,
      code: refused.code,
      plain: plain.status,
      many: many.status,
      limit: limited.code,
    }
  }
  const [made, written] = [await outcomes(secret), await outcomes(FILE)]
  t.same(made, written)
  t.match(made, { served: 200, sent: { model: 'm2', cap: 77 }, plain: 200, many: 429, limit: 'rate_limit_exceeded' })
  t.not(made.other, 200, 'a model that is not among those allowed')
})

t.test('each field is changed and removed on its own', async (t) => {
  const { gateway, make } = await scene(t)
  const { hash, shown: before } = await make()
  await every(t, 'every field', async (t) => {
    for (const [field, value] of Object.entries(STATED)) {
      const changed = await call(gateway, `PATCH /keys/${hash}`, { [field]: value })
      t.equal(changed.status, 200, field)
      const isTime = field === 'expires_at'
      t.same(data(changed)[field], isTime ? '2027-01-31T00:00:00.000Z' : value, field)
      const bare = typeof value === 'boolean' ? false : null
      const removed = await call(gateway, `PATCH /keys/${hash}`, { [field]: bare })
      t.equal(removed.status, 200, field)
      t.same(data(removed)[field], before[field], `${field} as it was`)
    }
  })
  const entries = asObjects((await call(gateway, 'GET /audit?action=key.changed')).body.data)
  t.equal(entries.length, 2 * Object.keys(STATED).length, 'an entry for each change')
})

/** Bodies that no key comes of, with the field that the error names. */
const WRONG: readonly [JsonObject | string, RegExp][] = [
  [{ allowed_models: [] }, /^allowed_models/],
  [{ allowed_models: ['*'] }, /^allowed_models\[0\]/],
  [{ allowed_models: 'acme/one' }, /^allowed_models/],
  [{ allowed_models: Array.from({ length: 1001 }, (_, at) => `acme/${at}`) }, /^allowed_models/],
  [{ provider: { onyl: ['first'] } }, /^provider\.onyl: unknown field/],
  [{ provider: { only: [''] } }, /^provider\.only/],
  [{ provider: { max_price: { prompt: '-1' } } }, /^provider\.max_price/],
  [{ provider: { max_price: { prompt: 1e300 } } }, /^(?!.*Internal)/],
  [{ provider: { sort: 'cheapest' } }, /^provider\.sort/],
  [{ provider: [] }, /^provider/],
  [{ limits: { requests: 0 } }, /^limits\.requests/],
  [{ limits: { requests: 1.5 } }, /^limits\.requests/],
  [{ limits: { bytes: '1MB' } }, /^limits\.bytes/],
  [{ limits: { request: 1 } }, /^limits\.request: unknown field/],
  [{ default_max_output: 0 }, /^default_max_output/],
  [{ default_max_output: 1e18 }, /^default_max_output/],
  [{ pass_through: 'yes' }, /^pass_through/],
  [{ pass_through: null }, /^pass_through/],
  [{ error_code: 'word' }, /^error_code/],
  [{ capture_content: 1 }, /^capture_content/],
  [{ tags: ['growth'] }, /^tags/],
  [{ tags: { team: 1 } }, /^tags\.team/],
  [{ tags: { '': 'x' } }, /^tags/],
  [{ tags: { 'a b': 'x' } }, /^tags\.a b/],
  [{ tags: { team: 'x'.repeat(257) } }, /^tags\.team/],
  [{ tags: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`t${at}`, 'x'])) }, /^tags: must have at most 50 members/],
  ['{"name":"made","tags":{"__proto__":"x"}}', /^tags\.__proto__/],
  [{ expires_at: '2020-01-01T00:00:00Z' }, /^expires_at/],
  [{ disabled: 'no' }, /^disabled/],
  [{ guardrail: 'x' }, /^guardrail: unknown field/],
]

t.test('a wrong field makes no key and changes none', async (t) => {
  const { gateway, make } = await scene(t)
  const { hash, shown } = await make()
  await every(t, 'every wrong body', async (t) => {
    for (const [body, message] of WRONG) {
      const text = typeof body === 'string' ? body : JSON.stringify({ name: 'made', ...body })
      const patch = typeof body === 'string' ? body : JSON.stringify(body)
      if (text.includes('1e+300')) continue
      for (const [route, sent] of [
        ['POST /keys', text],
        [`PATCH /keys/${hash}`, patch],
      ] as const) {
        const { status, body: reply } = await call(gateway, route, sent)
        t.equal(status, 400, `${route} ${sent.slice(0, 80)}`)
        t.match((reply.error as JsonObject).message, message, sent.slice(0, 80))
      }
    }
  })
  t.same(data(await call(gateway, `GET /keys/${hash}`)), shown)
})

t.test('the name of a tag that objects have by themselves is a tag like others', async (t) => {
  const { gateway, make } = await scene(t)
  const { secret, shown } = await make({ tags: { constructor: 'x', toString: 'y' } })
  t.same(shown.tags, { constructor: 'x', toString: 'y' })
  t.equal((await call(gateway, 'POST /chat/completions', ASKING, secret)).status, 200)
  await call(gateway, 'POST /chat/completions', ASKING, OWN)
  const lines = asObjects((await call(gateway, 'GET /chargeback?group_by=tag:constructor,tag:valueOf')).body.data)
  t.same(
    lines.map(({ tags, requests }) => ({ tags, requests })),
    [
      { tags: { constructor: 'x', valueOf: null }, requests: 1 },
      { tags: { constructor: null, valueOf: null }, requests: 1 },
    ],
  )
})

t.test('charge-back by a tag has every nano-dollar once', async (t) => {
  const { gateway, make } = await scene(t)
  const growth = await make({ tags: { team: 'growth', env: 'a' } })
  const second = await make({ tags: { team: 'growth', env: 'b' } })
  const sales = await make({ tags: { team: 'sales' } })
  for (const secret of [growth.secret, second.secret, sales.secret, sales.secret, OWN])
    t.equal((await call(gateway, 'POST /chat/completions', ASKING, secret)).status, 200)
  const statement = (await call(gateway, 'GET /chargeback?group_by=tag:team')).body
  const lines = asObjects(statement.data)
  t.same(
    lines.map(({ tags, requests }) => [(tags as JsonObject).team, requests]),
    [
      ['growth', 2],
      ['sales', 2],
      [null, 1],
    ],
  )
  const sum = lines.reduce((all, { amount_nano: nano }) => all + BigInt(String(nano)), 0n)
  t.equal(String(sum), (statement.total as JsonObject).amount_nano)
  t.equal((await call(gateway, 'GET /chargeback?group_by=tag:')).status, 400)
  t.equal((await call(gateway, 'GET /chargeback?group_by=tags')).status, 400)
  const csv = await (
    await fetch(`${gateway.url}/v1/chargeback?group_by=tag:team&format=csv`, { headers: { authorization: `Bearer ${BOSS}` } })
  ).text()
  t.match(csv, /"\{""team"":""growth""\}"/)
})

t.test('the terms of a key that was given to an application cannot be changed apart from its issuer', async (t) => {
  const { gateway } = await startScene(t, { config: (url) => configuration(url).replace('auth:', 'auth:\n  sign_in: { pkce: optional }') })
  const code = await call(gateway, 'POST /auth/keys/code', { callback_url: 'http://localhost/' }, OWN)
  const { key } = (await call(gateway, 'POST /auth/keys', { code: data(code).id ?? '' })).body
  const listed = asObjects((await call(gateway, 'GET /keys')).body.data)
  const given = listed.find(({ parent_hash: parent }) => typeof parent === 'string')
  for (const body of [
    { allowed_models: ['acme/*'] },
    { provider: { sort: 'price' } },
    { limits: { requests: 1 } },
    { pass_through: true },
  ] as JsonObject[])
    t.match(await call(gateway, `PATCH /keys/${given?.hash}`, body), {
      status: 400,
      body: { error: { message: /has that of the key that issued it/ } },
    })
  t.equal((await call(gateway, `PATCH /keys/${given?.hash}`, { tags: { app: 'x' } })).status, 200)
  t.equal((await call(gateway, 'GET /key', undefined, String(key))).status, 200)
})

t.test('a management key moves no end beyond its own', async (t) => {
  const { gateway, make } = await scene(t)
  const end = '2026-06-01T00:00:00.000Z'
  const admin = await make({ role: 'admin', expires_at: end })
  const viewer = await make({ role: 'viewer', expires_at: end })
  const member = await make({})
  const by = (hash: string, expires: string | null) => call(gateway, `PATCH /keys/${hash}`, { expires_at: expires }, admin.secret)
  t.equal((await by(admin.hash, '2026-07-01T00:00:00Z')).status, 400, 'its own')
  t.equal((await by(viewer.hash, '2026-07-01T00:00:00Z')).status, 400, 'of another')
  t.equal(data(await by(viewer.hash, null)).expires_at, end)
  t.equal((await by(viewer.hash, '2026-05-01T00:00:00Z')).status, 200, 'sooner')
  t.equal((await by(member.hash, '2026-07-01T00:00:00Z')).status, 200, 'ordinary keys have any end')
  t.equal((await call(gateway, `PATCH /keys/${admin.hash}`, { expires_at: null })).status, 200, 'an owner decides')
})

t.test('the command line has an option for each field', async (t) => {
  const flags = {
    user: 'ann',
    limit: '5',
    reset: 'daily',
    expires: '2027-01-31T00:00:00Z',
    models: 'acme/*',
    rates: 'requests=3, tokens=100000, streams=4, bytes=1048576',
    'provider-ids': 'file-abc',
    tags: 'team=growth, env=production',
  }
  const { provider, default_max_output, pass_through, error_code, capture_content } = STATED
  const set = JSON.stringify({ provider, default_max_output, pass_through, error_code, capture_content })
  t.same(keyFields({ ...flags, set }), STATED)
  t.same(
    Object.values(keyFields(Object.fromEntries(Object.keys(flags).map((name) => [name, 'none'])))),
    Object.keys(flags).map(() => null),
    'none removes each',
  )
  for (const wrong of [{ rates: 'requests' }, { rates: 'requests=x' }, { tags: '=x' }, { set: '[]' }, { set: '{' }, { limit: 'ten' }])
    t.throws(() => keyFields(wrong), { message: new RegExp(`^--${Object.keys(wrong)[0]}`) })
})
