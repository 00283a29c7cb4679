/** Every operation that is no generation, for every kind of key and for bad input of every kind: one table, one answer per cell. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { parseReply, type RawReply, rawExchange } from '../../support/raw.ts'

const FILE = {
  app: 'sk-router-v1-app-0123456789abcdef',
  boss: 'sk-router-v1-boss-0123456789abcdef',
  off: 'sk-router-v1-off-0123456789abcdef',
  old: 'sk-router-v1-old-0123456789abcdef',
}
const NOBODY = 'f'.repeat(64)
const NO_GUARDRAIL = '0df9e665-d932-5740-b2c7-b52af166bc11'
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const CONFIGURATION = `
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 100000 } }
auth:
  sign_in: { callbacks: [ "https://app.example/*" ], pkce: optional }
  keys:
    - { name: app, key: "${FILE.app}" }
    - { name: boss, key: "${FILE.boss}", management: true }
    - { name: off, key: "${FILE.off}", management: true, disabled: true }
    - { name: old, key: "${FILE.old}", management: true, expires_at: "2020-01-01T00:00:00Z" }
providers:
  sim: { dialect: sim }
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "1", completion: "1" } } ] }
guardrails:
  - { name: written, content_filters: [ { pattern: "never-[0-9]{9}", action: flag } ] }
presets:
  brief: { model: sim/echo, system_prompt: "Be brief." }
`

const clock = new FakeClock()
const gateway: Gateway = await startGateway(CONFIGURATION, { clock })
t.teardown(() => gateway.close())

interface Sent {
  headers?: Record<string, string>
  /** As it goes over the wire. */
  body?: string | undefined
}

/** Exactly this target, on a connection of its own. */
async function raw(method: string, target: string, { headers = {}, body }: Sent = {}): Promise<RawReply> {
  const all = {
    Host: 'gateway',
    Connection: 'close',
    ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${head.join('')}\r\n${body ?? ''}`).toString('latin1')
  return parseReply(await rawExchange(gateway.url, bytes))
}

const bearer = (secret: string): Record<string, string> => ({ Authorization: `Bearer ${secret}` })

const asBoss = async (method: string, path: string, body?: JsonObject): Promise<JsonObject> => {
  const reply = await raw(method, path, { headers: bearer(FILE.boss), body: body && JSON.stringify(body) })
  return JSON.parse(reply.body) as JsonObject
}

async function made(body: JsonObject = {}): Promise<{ hash: string; key: string }> {
  const { data, key } = await asBoss('POST', '/v1/keys', { name: 'made', ...body })
  return { hash: String((data as JsonObject).hash), key: String(key) }
}

const command = (body: JsonObject): Promise<JsonObject> =>
  adminFetch(`${gateway.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then((response) => response.json() as Promise<JsonObject>)

async function fetchCode(secret: string): Promise<string> {
  // A key makes one code a second.
  await clock.advance(1000)
  const { body } = await raw('POST', '/v1/auth/keys/code', { headers: bearer(secret), body: '{"callback_url":"https://app.example/"}' })
  return String(((JSON.parse(body) as JsonObject).data as JsonObject).id)
}

async function exchanged(secret: string): Promise<string> {
  const { body } = await raw('POST', '/v1/auth/keys', { body: JSON.stringify({ code: await fetchCode(secret) }) })
  return String((JSON.parse(body) as JsonObject).key)
}

/** Everything that the stores of keys and guardrails hold, codes as well. */
const stored = async (): Promise<string> => {
  const { store, guardrails } = gateway.running.runtime.management
  return JSON.stringify({ keys: await store.list(), ...(await guardrails.all()) })
}

const generation = await gateway
  .post('/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] })
  .then((response) => response.headers.get('x-generation-id'))

/** Callers of an operation: any key, management keys, ordinary keys, or everybody. */
type Access = 'any' | 'management' | 'ordinary' | 'open'

interface Operation {
  method: string
  /** Of the test, where the target is another one for every call. */
  name?: string
  /** With a target of its own for every call that may change something. */
  path: () => Promise<string> | string
  access: Access
  body?: () => Promise<JsonObject> | JsonObject
  status: number
  /** Part of a good answer. */
  answer: object
  /** Methods of the path. */
  methods: readonly string[]
}

const list = (path: string, answer: object = { data: Array }): Operation => ({
  method: 'GET',
  path: () => path,
  access: 'any',
  status: 200,
  answer,
  methods: ['GET'],
})
const KEYS = ['GET', 'POST']
const ONE_KEY = ['GET', 'PATCH', 'DELETE']
const fresh = async (): Promise<string> => `/v1/keys/${(await made()).hash}`

let guardrails = 0
/** A guardrail of its own, with one key. */
async function guarded(secret = FILE.app): Promise<string> {
  const { data } = await asBoss('POST', '/v1/guardrails', { name: `made ${guardrails++}` })
  const path = `/v1/guardrails/${String((data as JsonObject).id)}`
  await asBoss('POST', `${path}/assignments/keys`, { key_hashes: [secretHash(secret)] })
  return path
}

const managing = (method: string, path: string | (() => Promise<string>), more: Partial<Operation>): Operation => ({
  method,
  path: typeof path === 'string' ? () => path : path,
  access: 'management',
  status: 200,
  answer: {},
  methods: ['GET'],
  ...more,
})
const patched = await guarded(FILE.boss)
const ofGuardrail = (method: string, tail: string, more: Partial<Operation>): Operation =>
  managing(method, `${patched}${tail}`, { name: `/v1/guardrails/{id}${tail}`, ...more })
const ofNewGuardrail = (method: string, tail: string, more: Partial<Operation>): Operation =>
  managing(method, async () => `${await guarded()}${tail}`, { name: `/v1/guardrails/{id}${tail}`, ...more })
const SUBJECTS = ['GET', 'POST']
const assignedKeys = () => ({ key_hashes: [secretHash(FILE.app)] })
const assignedMembers = () => ({ member_user_ids: ['user_a'] })

const GUARDRAILS: readonly Operation[] = [
  managing('GET', '/v1/guardrails', { answer: { data: Array, total_count: Number }, methods: KEYS }),
  managing('POST', '/v1/guardrails', { body: () => ({ name: 'new' }), status: 201, answer: { data: { name: 'new' } }, methods: KEYS }),
  managing('GET', '/v1/guardrails/assignments/keys', { answer: { data: Array, total_count: Number } }),
  managing('GET', '/v1/guardrails/assignments/members', { answer: { data: Array, total_count: Number } }),
  managing('GET', '/v1/guardrails/written', { answer: { data: { name: 'written', source: 'configuration' } }, methods: ONE_KEY }),
  ofGuardrail('GET', '', { answer: { data: { name: /^(made|renamed)/ } }, methods: ONE_KEY }),
  ofGuardrail('PATCH', '', { body: () => ({ name: 'renamed' }), answer: { data: { name: 'renamed' } }, methods: ONE_KEY }),
  ofNewGuardrail('DELETE', '', { answer: { deleted: true }, methods: ONE_KEY }),
  ofGuardrail('GET', '/assignments/keys', { answer: { data: [{ key_name: 'boss' }], total_count: Number }, methods: SUBJECTS }),
  ofGuardrail('POST', '/assignments/keys', { body: assignedKeys, answer: { assigned_count: 1 }, methods: SUBJECTS }),
  ofNewGuardrail('POST', '/assignments/keys/remove', { body: assignedKeys, answer: { unassigned_count: 1 }, methods: ['POST'] }),
  ofGuardrail('GET', '/assignments/members', { answer: { data: [], total_count: 0 }, methods: SUBJECTS }),
  ofGuardrail('POST', '/assignments/members', {
    body: assignedMembers,
    status: 400,
    answer: { error: { metadata: { field: 'member_user_ids[0]' } } },
    methods: SUBJECTS,
  }),
  ofNewGuardrail('POST', '/assignments/members/remove', { body: assignedMembers, answer: { unassigned_count: 0 }, methods: ['POST'] }),
]

const OPERATIONS: readonly Operation[] = [
  ...GUARDRAILS,
  { method: 'GET', path: () => '/v1/keys', access: 'management', status: 200, answer: { data: Array }, methods: KEYS },
  {
    method: 'POST',
    path: () => '/v1/keys',
    access: 'management',
    body: () => ({ name: 'new' }),
    status: 201,
    answer: { data: { name: 'new' }, key: /^sk-router-v2-[0-9a-f]{64}$/ },
    methods: KEYS,
  },
  { method: 'GET', path: fresh, access: 'management', status: 200, answer: { data: { name: 'made' } }, methods: ONE_KEY },
  {
    method: 'PATCH',
    path: fresh,
    access: 'management',
    body: () => ({ name: 'renamed' }),
    status: 200,
    answer: { data: { name: 'renamed' } },
    methods: ONE_KEY,
  },
  { method: 'DELETE', path: fresh, access: 'management', status: 200, answer: { deleted: true }, methods: ONE_KEY },
  {
    method: 'POST',
    name: '/v1/keys/{hash}/rotate',
    path: async () => `${await fresh()}/rotate`,
    access: 'management',
    status: 200,
    answer: { data: { name: 'made' }, key: /^sk-router-v2-[0-9a-f]{64}$/ },
    methods: ['POST'],
  },
  {
    method: 'GET',
    path: () => '/v1/credits',
    access: 'management',
    status: 200,
    answer: { data: { total_credits: Number, total_usage: Number } },
    methods: ['GET'],
  },
  { method: 'GET', path: () => '/v1/sessions', access: 'management', status: 200, answer: { data: [] }, methods: ['GET'] },
  { method: 'GET', path: () => '/v1/activity', access: 'management', status: 200, answer: { data: [] }, methods: ['GET'] },
  { method: 'GET', path: () => '/v1/activity/keys', access: 'management', status: 200, answer: { data: [] }, methods: ['GET'] },
  list('/v1/key', { data: { label: /\.\.\./ } }),
  list('/v1/models'),
  list('/v1/models/user'),
  list('/v1/models/count', { data: { count: 1 } }),
  list('/v1/model/sim/echo', { data: { id: 'sim/echo' } }),
  list('/v1/models/sim/echo/endpoints', { data: { id: 'sim/echo' } }),
  list('/v1/embeddings/models'),
  list('/v1/endpoints/zdr'),
  list('/v1/providers'),
  list('/v1/presets', { total_count: 1 }),
  list('/v1/presets/brief', { data: { slug: 'brief' } }),
  {
    method: 'POST',
    path: () => '/v1/auth/keys/code',
    access: 'ordinary',
    body: () => ({ callback_url: 'https://app.example/' }),
    status: 200,
    answer: { data: { id: String, app_id: Number } },
    methods: ['POST'],
  },
  {
    method: 'POST',
    path: () => '/v1/auth/keys',
    access: 'open',
    body: async () => ({ code: await fetchCode(FILE.app) }),
    status: 200,
    answer: { key: /^sk-router-v2-[0-9a-f]{64}$/, user_id: 'app' },
    methods: ['POST'],
  },
]

type Standing = 'management' | 'ordinary' | 'derived' | readonly [status: number, message: RegExp]
interface Kind {
  headers: () => Promise<Record<string, string>> | Record<string, string>
  standing: Standing
}

const MISSING = [401, /^Missing Authentication header$/] as const
const INVALID = [401, /^Invalid API key$/] as const
const DIFFERENT = [400, /^authorization: names another key than x-api-key$/] as const

const disabled = await made({ name: 'disabled' })
await asBoss('PATCH', `/v1/keys/${disabled.hash}`, { disabled: true })
const expired = await made({ name: 'expired', expires_at: new Date(clock.now() + 1000).toISOString() })
const rotated = await made({ name: 'rotated' })
const rotatedTo = String((await command({ verb: 'rotate', key: rotated.hash })).key)
const deleted = await made({ name: 'deleted' })
await asBoss('DELETE', `/v1/keys/${deleted.hash}`)
const ordinary = await made({ name: 'ordinary' })
const manager = String((await command({ verb: 'create', fields: { name: 'manager' }, management: true })).key)
const derived = await exchanged(FILE.app)
const spent = await made({ name: 'spent', limit: 0 })
await clock.advance(1000)

const of = (secret: string, standing: Standing): Kind => ({ headers: () => bearer(secret), standing })
const given = (headers: Record<string, string>, standing: Standing): Kind => ({ headers: () => headers, standing })

const KINDS: Readonly<Record<string, Kind>> = {
  none: given({}, MISSING),
  'an empty header': given({ Authorization: '' }, MISSING),
  'only spaces': given({ Authorization: '   ' }, MISSING),
  'an empty x-api-key': given({ 'x-api-key': '' }, MISSING),
  'no secret': given({ Authorization: 'Bearer' }, INVALID),
  'another scheme': given({ Authorization: `Basic ${Buffer.from(`boss:${FILE.boss}`).toString('base64')}` }, INVALID),
  'no scheme': given({ Authorization: FILE.boss }, INVALID),
  'words behind the secret': given({ Authorization: `Bearer ${FILE.boss} x` }, INVALID),
  'a secret too long': of('x'.repeat(513), INVALID),
  'another case': of(FILE.boss.toUpperCase(), INVALID),
  'a part of a secret': of(FILE.boss.slice(0, -1), INVALID),
  'the hash of a key': of(secretHash(FILE.boss), INVALID),
  unknown: of(`sk-router-v1-${NOBODY}`, INVALID),
  'two that differ': given({ ...bearer(FILE.boss), 'x-api-key': FILE.app }, DIFFERENT),
  'disabled, management': of(FILE.off, INVALID),
  'expired, management': of(FILE.old, INVALID),
  'disabled, stored': of(disabled.key, INVALID),
  'expired, stored': of(expired.key, INVALID),
  'rotated away': of(rotated.key, INVALID),
  deleted: of(deleted.key, INVALID),
  'a code': { headers: async () => bearer(await fetchCode(FILE.app)), standing: INVALID },
  ordinary: of(FILE.app, 'ordinary'),
  'ordinary, stored': of(ordinary.key, 'ordinary'),
  'ordinary, by x-api-key': given({ 'x-api-key': ordinary.key }, 'ordinary'),
  'rotated to': of(rotatedTo, 'ordinary'),
  'without credit': of(spent.key, 'ordinary'),
  'given to an application': of(derived, 'derived'),
  management: of(FILE.boss, 'management'),
  'management, stored': of(manager, 'management'),
  'management, by x-api-key': given({ 'x-api-key': FILE.boss }, 'management'),
  'the same twice': given({ ...bearer(FILE.boss), 'x-api-key': FILE.boss }, 'management'),
}

/** Expected code of one cell of the table; undefined where the operation is carried out. */
function refusal(access: Access, standing: Standing): readonly [number, RegExp] | undefined {
  if (access === 'open') return undefined
  if (typeof standing !== 'string') return standing
  if (access === 'management' && standing !== 'management') return [403, /^Only management keys of the role/]
  if (access !== 'ordinary') return undefined
  if (standing === 'management') return [403, /^Only keys of the role member can perform this operation: this one has the role owner$/]
  if (standing === 'derived') return [403, /^A key that was given to an application cannot sign in to further ones$/]
  return undefined
}

const SECRETS = [
  ...Object.values(FILE),
  disabled.key,
  expired.key,
  rotated.key,
  rotatedTo,
  deleted.key,
  ordinary.key,
  manager,
  derived,
  spent.key,
]

const tellsNoSecret = (t: Test, text: string): void => {
  t.notOk(
    SECRETS.some((secret) => text.includes(secret)),
    'no secret is told',
  )
}

/** A fault in the one form of all faults, with nothing in it that is anybody's. */
function checkFault(t: Test, reply: RawReply, [status, message]: readonly [number, RegExp], name: string): void {
  const { error } = JSON.parse(reply.body) as { error: JsonObject }
  const type = reply.headers.get('content-type')
  const secret = /[0-9a-f]{64}/.test(reply.body) || SECRETS.some((each) => reply.body.includes(each))
  t.match(
    { status: reply.status, type, error, secret },
    { status, type: 'application/json', error: { code: status, message, metadata: { error_type: String } }, secret: false },
    name,
  )
}

for (const operation of OPERATIONS) {
  const { method, access } = operation
  t.test(`${method} ${operation.path === fresh ? '/v1/keys/{hash}' : (operation.name ?? operation.path())}`, async (t) => {
    await every(t, 'every case', async (t) => {
      for (const [name, { headers, standing }] of Object.entries(KINDS)) {
        const path = await operation.path()
        const body = JSON.stringify(await operation.body?.())
        const sent = { headers: await headers(), body }
        const refused = refusal(access, standing)
        const before = await stored()
        const reply = await raw(method, path, sent)
        if (refused) {
          checkFault(t, reply, refused, name)
          t.equal(await stored(), before, `${name}: nothing has changed`)
          continue
        }
        t.equal(reply.status, operation.status, name)
        t.equal(reply.headers.get('content-type'), 'application/json')
        const told = JSON.parse(reply.body) as JsonObject
        t.match(told, operation.answer, name)
        tellsNoSecret(t, reply.body)
        const { key: _, ...rest } = told
        if (access !== 'management') t.notMatch(JSON.stringify(rest), /[0-9a-f]{64}/, 'no hash is told to those who do not manage')
        if (method === 'GET') {
          t.equal(await stored(), before, `${name}: reading changes nothing`)
          const head = await raw('HEAD', path, sent)
          t.match([head.status, head.body], [operation.status, ''], `${name}: HEAD`)
          t.equal(head.headers.get('content-length'), reply.headers.get('content-length'))
        }
      }
    })
  })
}

t.test('a generation is shown to its own key and to those who manage', async (t) => {
  for (const [name, { headers, standing }] of Object.entries(KINDS)) {
    const reply = await raw('GET', `/v1/generation?id=${generation}`, { headers: await headers() })
    if (typeof standing !== 'string') checkFault(t, reply, standing, name)
    else if (name === 'ordinary' || standing === 'management') t.match(JSON.parse(reply.body), { data: { id: generation } }, name)
    else checkFault(t, reply, [404, /^No such generation$/], name)
  }
})

t.test('other methods', async (t) => {
  const before = await stored()
  const paths = new Map<string, readonly string[]>([['/v1/generation', ['GET']]])
  for (const { path, methods } of OPERATIONS)
    paths.set((await path()).replace(/[0-9a-f]{64}/, NOBODY).replace(/[0-9a-f-]{36}/, NO_GUARDRAIL), methods)
  await every(t, 'every case', async (t) => {
    for (const [path, methods] of paths)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        if (methods.includes(method)) continue
        for (const headers of [bearer(FILE.boss), {}]) {
          const reply = await raw(method, path, { headers, body: '{}' })
          checkFault(t, reply, [405, /^Method not allowed$/], `${method} ${path}`)
          t.equal(reply.headers.get('allow'), methods.join(', '), `${method} ${path}`)
        }
      }
  })
  const count = (text: string, what: string): number => (JSON.parse(text) as Record<string, unknown[]>)[what].length
  const after = await stored()
  t.equal(count(after, 'keys') - count(before, 'keys'), 4, 'but for the four keys that were made to be asked for')
  t.equal(count(after, 'guardrails') - count(before, 'guardrails'), 3, 'and the guardrails')
})

t.test('tricks with paths lead nowhere', async (t) => {
  const { hash } = ordinary
  const before = await stored()
  await every(t, 'every case', async (t) => {
    for (const [target, status] of [
      ['/v1/keys//', 404],
      ['/v1//keys', 404],
      ['/v1/./keys', 404],
      ['/v1/x/../keys', 404],
      ['/v1/keys/..', 404],
      ['/v1/keys/../credits', 404],
      ['/v1/keys/%2e%2e/credits', 404],
      ['/v1/%6beys', 404],
      ['/V1/keys', 404],
      ['/v1/KEYS', 404],
      ['/v1/keys;x=y', 404],
      ['/v1/keys%3Foffset=0', 404],
      ['/v1/keys%00', 404],
      ['/v1/keys/*', 404],
      ['/v1/keys/__proto__', 404],
      ['/v1/keys/constructor', 404],
      ['/v1/constructor', 404],
      ['/v1/__proto__', 404],
      [`/v1/keys/${hash}x`, 404],
      [`/v1/keys/${hash}%00`, 404],
      [`/v1/keys/${hash.toUpperCase()}`, 404],
      [`/v1/keys/${hash.slice(1)}`, 404],
      [`/v1/keys/%${hash.charCodeAt(0).toString(16)}${hash.slice(1)}`, 404],
      [`/v1/keys%2F${hash}`, 404],
      [`/v1/keys/${hash}/../${hash}`, 404],
      [`/v1/keys/code:${hash}`, 404],
      [`/v1/keys/${'a'.repeat(8000)}`, 404],
      ["/v1/keys/'%20OR%201=1--", 404],
      ['/v1/guardrails//', 404],
      ['/v1/guardrails/..', 404],
      ['/v1/guardrails/../keys', 404],
      ['/v1/guardrails/__proto__', 404],
      ['/v1/guardrails/constructor', 404],
      ['/v1/guardrails/assignments', 404],
      ['/v1/guardrails/assignments/', 404],
      ['/v1/guardrails/assignments/constructor', 404],
      ['/v1/guardrails/assignments/keys/remove', 404],
      ['/v1/guardrails/WRITTEN', 404],
      ['/v1/guardrails/%77ritten', 404],
      ['/v1/guardrails/written%00', 404],
      ['/v1/guardrails/written/assignments', 404],
      ['/v1/guardrails/written/assignments/workspace', 404],
      ['/v1/guardrails/written/assignments/__proto__', 404],
      ['/v1/guardrails/written/assignments/keys/removed', 404],
      ['/v1/guardrails/written/assignments/keys/remove/x', 404],
      ['/v1/guardrails/written/../written', 404],
      [`/v1/guardrails/${'a'.repeat(8000)}`, 404],
      ["/v1/guardrails/'%20OR%201=1--", 404],
      ['/v1/auth', 404],
      ['/v1/auth/keys/', 404],
      ['/v1/auth/keys/code/', 404],
      ['/v1/model/sim%2', 404],
      ['/v1/model/', 404],
      ['/v1/presets/none', 404],
      ['/v1/presets/__proto__', 404],
      ['/v1/presets/%ff', 404],
      ['/v1/models/none/none/endpoints', 404],
      ['/keys', 404],
      ['/api/v1/keys', 404],
      ['//v1/keys', 400],
      ['http://gateway/v1/keys', 400],
      ['*', 400],
      [`/v1/keys/${'a'.repeat(8200)}`, 414],
    ] as const)
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const reply = await raw(method, target, {
          headers: bearer(FILE.boss),
          body: target.includes('guardrails') ? '{}' : '{"disabled":true}',
        })
        const told = (JSON.parse(reply.body) as { error?: { code: number } }).error?.code
        t.equal(told, reply.status, `the one form of a fault: ${method} ${target.slice(0, 60)}`)
        if (reply.status !== 405) t.equal(reply.status, status, `${method} ${target.slice(0, 60)}`)
        else t.match(target, /^\/v1\/(auth|presets|model)/, `${method} ${target}: a path that others have`)
      }
  })
  t.equal(await stored(), before)
  t.equal((await raw('GET', `/v1/keys/${hash}?x=/../y`, { headers: bearer(FILE.boss) })).status, 200, 'a query is no path')
})

type Wrong = readonly [body: JsonObject | string, field: string]

/** All JSON types but those that a field takes, and values of the right type that are out of its range. */
interface Field {
  takes: readonly string[]
  beyond: readonly Json[]
}

const SAMPLES: Readonly<Record<string, Json>> = { string: 'x', number: 1, boolean: true, null: null, object: {}, array: [] }
const TIMES: readonly Json[] = [
  '',
  'soon',
  '2027-01-31',
  '2027-13-01T00:00:00Z',
  '2027-01-31T25:00:00Z',
  '2027-01-31T00:00:00',
  '2026-01-05T12:00:00Z',
  '+275760-09-13T00:00:01Z',
]
const WORKSPACES: readonly Json[] = ['', 'default', NOBODY]
const PLACES: readonly Json[] = WORKSPACES.filter((id) => id !== 'default')

function wrongOnes(fields: Readonly<Record<string, Field>>, base: JsonObject): Wrong[] {
  return Object.entries(fields).flatMap(([name, { takes, beyond }]) => {
    const types = Object.keys(SAMPLES).filter((type) => !takes.includes(type))
    const values = [...types.map((type) => SAMPLES[type]), ...beyond]
    return values.map((value): Wrong => [{ ...base, [name]: value }, name])
  })
}

const shared: Record<string, Field> = {
  name: { takes: ['string'], beyond: ['', 'x'.repeat(257), 'x'.repeat(100_000)] },
  limit: { takes: ['number', 'null'], beyond: [-0.000000001, -1, 9_000_000.01, 1e308, '1'] },
  limit_reset: { takes: ['null'], beyond: ['', 'Daily', 'yearly'] },
  include_byok_in_limit: { takes: ['boolean'], beyond: ['true', 0] },
  provider_ids: { takes: ['null', 'array'], beyond: ['', Array(501).fill('x')] },
}

interface BodyCase {
  method: string
  path: string
  secret: string | undefined
  wrong: readonly Wrong[]
}

const NAMES: Field = { takes: ['null'], beyond: [[], '', 'acme/one'] }
const FLAG: Field = { takes: ['boolean', 'null'], beyond: ['true', 0, 1] }
const guardrailFields: Record<string, Field> = {
  name: { takes: ['string'], beyond: ['', 'x'.repeat(201)] },
  description: { takes: ['string', 'null'], beyond: ['x'.repeat(1001)] },
  limit_usd: { takes: ['number', 'null'], beyond: [-0.01, 9_000_000.01, 1e308, '1', 1e-10] },
  reset_interval: { takes: ['null'], beyond: ['', 'Daily', 'yearly'] },
  include_byok_in_budgets: { takes: ['boolean'], beyond: ['true', 0] },
  allowed_models: NAMES,
  ignored_models: NAMES,
  allowed_providers: NAMES,
  ignored_providers: NAMES,
  enforce_zdr: FLAG,
  enforce_zdr_other: FLAG,
  enable_free_model_publication: FLAG,
  enable_free_model_training: FLAG,
  enable_paid_model_training: FLAG,
  content_filters: { takes: ['null', 'array'], beyond: ['x'] },
  content_filter_builtins: { takes: ['null', 'array'], beyond: ['email'] },
  phrases: { takes: ['null', 'array'], beyond: [] },
  action: { takes: ['null'], beyond: ['drop', ''] },
  direction: { takes: ['null'], beyond: ['sideways', ''] },
  restore: FLAG,
  max_price: { takes: ['null', 'object'], beyond: ['1'] },
  audit: { takes: ['null'], beyond: ['none', ''] },
  id: { takes: [], beyond: [NO_GUARDRAIL] },
  engine: { takes: [], beyond: [{ type: 'webhook', url: 'http://127.0.0.1/' }] },
  scope: { takes: [], beyond: [{ keys: ['app'] }] },
}
const hashes: Record<string, Field> = { key_hashes: { takes: [], beyond: [[], 'x', NOBODY] }, keys: { takes: [], beyond: [] } }
const members: Record<string, Field> = {
  member_user_ids: { takes: [], beyond: [[], 'x'] },
  key_hashes: { takes: [], beyond: [[]] },
  user_ids: { takes: [], beyond: [[]] },
}
const known = { key_hashes: [secretHash(FILE.app)] }

const BODIES: readonly BodyCase[] = [
  {
    method: 'POST',
    path: '/v1/guardrails',
    secret: FILE.boss,
    wrong: [
      ...wrongOnes({ ...guardrailFields, workspace_id: { takes: ['string'], beyond: WORKSPACES } }, { name: 'x' }),
      ['{"name":"x","limit_usd":1e999}', 'limit_usd'],
      ['{"limit_usd":1}', 'name'],
    ],
  },
  {
    method: 'PATCH',
    path: patched,
    secret: FILE.boss,
    wrong: wrongOnes({ ...guardrailFields, workspace_id: { takes: [], beyond: WORKSPACES } }, {}),
  },
  ...['', '/remove'].flatMap((tail): BodyCase[] => [
    {
      method: 'POST',
      path: `${patched}/assignments/keys${tail}`,
      secret: FILE.boss,
      wrong: [...wrongOnes(hashes, known), [{}, 'key_hashes']],
    },
    {
      method: 'POST',
      path: `${patched}/assignments/members${tail}`,
      secret: FILE.boss,
      wrong: [...wrongOnes(members, { member_user_ids: ['x'] }), [{}, 'member_user_ids']],
    },
  ]),
  {
    method: 'POST',
    path: '/v1/keys',
    secret: FILE.boss,
    wrong: [
      ...wrongOnes(
        {
          ...shared,
          expires_at: { takes: ['string', 'null'], beyond: TIMES },
          workspace_id: { takes: ['string', 'null'], beyond: PLACES },
          creator_user_id: { takes: ['string', 'null'], beyond: ['', 'x'.repeat(257)] },
          disabled: { takes: ['boolean'], beyond: ['false', 0, 1] },
          management: { takes: [], beyond: [] },
          hash: { takes: [], beyond: [NOBODY] },
          key: { takes: [], beyond: [FILE.app] },
        },
        { name: 'x' },
      ),
      ['{"name":"x","limit":1e999}', 'limit'],
      ['{"limit":1}', 'name'],
    ],
  },
  {
    method: 'PATCH',
    path: `/v1/keys/${ordinary.hash}`,
    secret: FILE.boss,
    wrong: [
      ...wrongOnes(
        {
          ...shared,
          disabled: { takes: ['boolean'], beyond: ['false', 0, 1] },
          expires_at: { takes: ['string', 'null'], beyond: TIMES },
          identity: { takes: [], beyond: ['app'] },
        },
        {},
      ),
      ['{"limit":-1e999}', 'limit'],
    ],
  },
  {
    method: 'POST',
    path: '/v1/auth/keys/code',
    secret: ordinary.key,
    wrong: [
      ...wrongOnes(
        {
          callback_url: { takes: ['string'], beyond: ['', 'x', 'http://app.example/', `https://app.example/${'x'.repeat(2048)}`] },
          code_challenge: {
            takes: ['string'],
            beyond: ['', 'x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(42)}+`, `${'x'.repeat(42)} `, 'ü'.repeat(43)],
          },
          limit: { takes: ['number', 'null'], beyond: [-1, 9_000_000.01, '1'] },
          usage_limit_type: { takes: ['null'], beyond: ['', 'hourly'] },
          expires_at: { takes: ['string', 'null'], beyond: TIMES },
          key_label: { takes: ['string'], beyond: ['', 'x'.repeat(101)] },
          workspace_id: { takes: ['string'], beyond: WORKSPACES },
          name: { takes: [], beyond: [] },
        },
        { callback_url: 'https://app.example/' },
      ),
      ...wrongOnes(
        { code_challenge_method: { takes: [], beyond: ['', 's256', 'S512', 'none'] } },
        { callback_url: 'https://app.example/', code_challenge: 'x'.repeat(43) },
      ),
      [{ callback_url: 'https://app.example/', code_challenge_method: 'S256' }, 'code_challenge'],
      [{ callback_url: 'https://app.example/', code_challenge_method: 'S256', code_challenge: 'x'.repeat(44) }, 'code_challenge'],
      [{}, 'callback_url'],
    ],
  },
  {
    method: 'POST',
    path: '/v1/auth/keys',
    secret: undefined,
    wrong: [
      ...wrongOnes(
        {
          code: { takes: ['string'], beyond: ['', 'x'.repeat(513)] },
          code_verifier: { takes: ['string', 'null'], beyond: ['x'.repeat(513)] },
          code_challenge_method: { takes: ['null'], beyond: ['', 's256', 'none'] },
          grant_type: { takes: [], beyond: [] },
        },
        { code: 'x' },
      ),
      [{}, 'code'],
    ],
  },
]

for (const { method, path, secret, wrong } of BODIES)
  t.test(`bodies of ${method} ${path.replace(/[0-9a-f]{64}/, '{hash}').replace(/[0-9a-f-]{36}/, '{id}')}`, async (t) => {
    const headers = secret === undefined ? {} : bearer(secret)
    const before = await stored()
    t.ok(wrong.length > 15, 'there are cases')
    await every(t, 'every case', async (t) => {
      for (const [body, field] of wrong) {
        // A key may make so many codes and no more.
        await clock.advance(1000)
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        const name = text.slice(0, 80)
        const reply = await raw(method, path, { headers, body: text })
        checkFault(t, reply, [400, new RegExp(`^${field}: `)], name)
        t.match(JSON.parse(reply.body), { error: { metadata: { field } } }, name)
      }
    })
    for (const [text, message] of [
      ['', /^body: expected a JSON object, found nothing$/],
      [' ', /^body: expected valid JSON/],
      ['{', /^body: expected valid JSON/],
      ['{"name":"x"', /^body: expected valid JSON/],
      ["{'name':'x'}", /^body: expected valid JSON/],
      ['{"name":"x"}{}', /^body: expected valid JSON/],
      ['\ufeff{"name":"x"}', /^body: expected valid JSON/],
      ['{"name":NaN}', /^body: expected valid JSON/],
      ['name=x', /^body: expected valid JSON/],
      ['[]', /^body: expected a JSON object$/],
      ['[{}]', /^body: expected a JSON object$/],
      ['null', /^body: expected a JSON object$/],
      ['7', /^body: expected a JSON object$/],
      ['"x"', /^body: expected a JSON object$/],
      ['true', /^body: expected a JSON object$/],
      [`{"x":${'['.repeat(300)}${']'.repeat(300)}}`, /^body: nested deeper than/],
      ['{"__proto__":{"name":"x"}}', /^body: a field may not be named __proto__$/],
      ['{"constructor":{}}', /: (unknown field|is required)$/],
    ] as const) {
      await clock.advance(1000)
      checkFault(t, await raw(method, path, { headers, body: text }), [400, message], text.slice(0, 40))
    }
    for (const [more, status] of [
      [{ 'Content-Type': 'text/plain' }, 415],
      [{ 'Content-Type': 'text/html' }, 415],
      [{ 'Content-Type': 'multipart/form-data; boundary=x' }, 415],
      [{ 'Content-Type': 'application/xml' }, 415],
      [{ 'Content-Type': 'application/json; charset=utf-16' }, 415],
      [{ 'Content-Encoding': 'gzip' }, 415],
      [{ 'Content-Encoding': 'br' }, 415],
      [{ 'Content-Length': '99999999999' }, 413],
    ] as const) {
      await clock.advance(1000)
      const reply = await raw(method, path, { headers: { ...headers, ...more }, body: '{}' })
      checkFault(t, reply, [status, /./], JSON.stringify(more))
    }
    t.equal(await stored(), before, 'nothing was made or changed')
    if (secret === undefined) return
    for (const text of ['{', '', '{"name":7}', '[]'])
      checkFault(t, await raw(method, path, { headers: bearer('sk-nobody'), body: text }), INVALID, 'who it is comes before what it says')
    checkFault(
      t,
      await raw(method, path, { headers: { ...bearer('sk-nobody'), 'Content-Type': 'text/plain' }, body: 'x' }),
      INVALID,
      'also its type',
    )
    if (/^\/v1\/(keys|guardrails)/.test(path))
      for (const text of ['{', '', '{"name":7}'])
        checkFault(t, await raw(method, path, { headers: bearer(FILE.app), body: text }), [403, /^Only management keys/], 'and what it may')
  })

t.test('queries', async (t) => {
  const before = await stored()
  const numbers = ['-1', 'x', '1.5', '1e3', '0x10', '9'.repeat(20), '%00', '+1', ' 1']
  const QUERIES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
    '/v1/guardrails': { offset: numbers, limit: [...numbers, '0', '101'] },
    '/v1/guardrails/assignments/keys': { offset: numbers, limit: [...numbers, '0', '101'] },
    '/v1/guardrails/assignments/members': { offset: numbers, limit: ['0', '101'] },
    '/v1/guardrails/written/assignments/keys': { offset: numbers, limit: ['0', '101'] },
    '/v1/keys': { offset: numbers, include_disabled: ['yes', 'TRUE', '1', 'true,false'] },
    '/v1/activity': {
      date: ['yesterday', '2026-01-05', '2026-1-4', '2025-12-05', '2026-02-30', '2026-01-04T00:00:00Z', '20260104'],
      api_key_hash: ['x', NOBODY.toUpperCase(), NOBODY.slice(1), `${NOBODY}0`],
      group_by: ['day', 'Workspace'],
    },
    '/v1/presets': { offset: numbers, limit: [...numbers, '0', '101'] },
    '/v1/models': { offset: numbers, limit: [...numbers, '0', '1001'], sort: ['best'], min_price: ['-1', 'x'], category: ['programming'] },
    '/v1/models/user': { offset: numbers, limit: ['0', '1001'] },
    '/v1/embeddings/models': { offset: numbers, limit: ['0', '1001'] },
    '/v1/generation': { id: [''] },
  }
  await every(t, 'every case', async (t) => {
    for (const [path, parameters] of Object.entries(QUERIES))
      for (const [field, values] of Object.entries(parameters))
        for (const value of values) {
          const target = `${path}?${field}=${value.replaceAll('+', '%2B').replaceAll(' ', '%20')}`
          const reply = await raw('GET', target, { headers: bearer(FILE.boss) })
          checkFault(t, reply, [400, new RegExp(`^${field}: `)], target)
          t.match(JSON.parse(reply.body), { error: { metadata: { field } } }, target)
          checkFault(t, await raw('GET', target), MISSING, 'nothing is told to nobody')
        }
  })
  for (const id of ['gen-1', 'x', '%00', 'x'.repeat(5000), `${generation}x`, "'%20OR%201=1"])
    checkFault(
      t,
      await raw('GET', `/v1/generation?id=${id}`, { headers: bearer(FILE.boss) }),
      [404, /^No such generation$/],
      id.slice(0, 20),
    )
  for (const target of ['/v1/generation', '/v1/generation?ID=x'])
    checkFault(t, await raw('GET', target, { headers: bearer(FILE.boss) }), [400, /^id: is required/], target)
  t.equal(await stored(), before)
})

t.test('logs no secret and no unexpected error of these operations', async (t) => {
  const utterance = [...gateway.logs, await (await fetch(`${gateway.admin}/metrics`)).text()].join('\n')
  tellsNoSecret(t, utterance)
  t.notMatch(utterance, /"level":"?(error|50)|unexpected/, 'and nothing happened that nobody foresaw')
})
