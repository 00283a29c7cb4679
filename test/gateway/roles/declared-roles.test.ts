/** Every operation of the API for every role, and for keys that open nothing: what a role may call stands here a second time, on purpose. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'

const ROLES = ['member', 'viewer', 'billing', 'admin', 'owner'] as const
type Role = (typeof ROLES)[number]

const secret = (name: string): string => `sk-router-v1-${name}-0123456789abcdef`

const CONFIGURATION = `
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 100000 } }
auth:
  sign_in: { callbacks: [ "https://app.example/*" ] }
  keys:
${ROLES.map((role) => `    - { name: ${role}, key: "${secret(role)}", role: ${role} }`).join('\n')}
    - { name: boss, key: "${secret('boss')}", management: true }
    - { name: off, key: "${secret('off')}", role: owner, disabled: true }
    - { name: old, key: "${secret('old')}", role: owner, expires_at: "2020-01-01T00:00:00Z" }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "1", completion: "1" } } ] } }
presets: { brief: { model: sim/echo, system_prompt: "Be brief." } }
`

const gateway: Gateway = await startGateway(CONFIGURATION)
t.teardown(() => gateway.close())

const ALL: readonly Role[] = ROLES
const MEMBERS: readonly Role[] = ['member']
const READERS: readonly Role[] = ['viewer', 'admin', 'owner']
const MONEY_READERS: readonly Role[] = ['viewer', 'billing', 'admin', 'owner']
const MONEY_KEEPERS: readonly Role[] = ['billing', 'admin', 'owner']
const ADMINS: readonly Role[] = ['admin', 'owner']

const guardrailAssignments = (kind: 'keys' | 'members' | 'workspaces' | 'organizations'): [string, readonly Role[]][] => [
  [`GET /guardrails/assignments/${kind}`, READERS],
  [`GET /guardrails/{id}/assignments/${kind}`, READERS],
  [`POST /guardrails/{id}/assignments/${kind}`, ADMINS],
  [`POST /guardrails/{id}/assignments/${kind}/remove`, ADMINS],
]

const levels = (path: string): [string, readonly Role[]][] => [
  [`GET ${path}/{id}`, MONEY_READERS],
  [`PATCH ${path}/{id}`, ADMINS],
  [`DELETE ${path}/{id}`, ADMINS],
  [`GET ${path}/{id}/budgets`, MONEY_READERS],
  [`GET ${path}/{id}/budgets/{interval}`, MONEY_READERS],
  [`PUT ${path}/{id}/budgets/{interval}`, ADMINS],
  [`DELETE ${path}/{id}/budgets/{interval}`, ADMINS],
]

const groups = (path: string): [string, readonly Role[]][] => [
  [`GET ${path}`, MONEY_READERS],
  [`POST ${path}`, ADMINS],
  [`GET ${path}/{id}/members`, MONEY_READERS],
  [`POST ${path}/{id}/members/add`, ADMINS],
  [`POST ${path}/{id}/members/remove`, ADMINS],
  ...levels(path),
]

/** By hand, and not from the declarations: a role that is declared wrongly differs from this. */
const EXPECTED = new Map<string, readonly Role[] | 'none'>([
  ...['GET /models', 'GET /models/count', 'GET /models/user', 'GET /embeddings/models', 'GET /model/{author}/{slug}'].map(named(ALL)),
  ...['GET /models/{author}/{slug}', 'GET /models/{author}/{slug}/endpoints', 'GET /endpoints/zdr', 'GET /providers'].map(named(ALL)),
  ...['GET /presets', 'GET /presets/{slug}', 'GET /key', 'GET /generation'].map(named(ALL)),
  ...['POST /files', 'GET /files', 'GET /files/{file_id}', 'GET /files/{file_id}/content', 'DELETE /files/{file_id}'].map(named(MEMBERS)),
  ...['POST /chat/completions', 'POST /responses', 'POST /responses/compact', 'POST /messages'].map(named(MEMBERS)),
  ...['POST /completions', 'POST /embeddings'].map(named(MEMBERS)),
  ...['POST /messages/count_tokens', 'POST /plan', 'POST /auth/keys/code'].map(named(MEMBERS)),
  ['POST /auth/keys', 'none'],
  ...['GET /keys', 'GET /keys/{hash}', 'GET /keys/{hash}/budget', 'GET /credits', 'GET /activity'].map(named(MONEY_READERS)),
  ...['GET /activity/keys', 'GET /sessions', 'GET /budgets', 'GET /ledger/entries'].map(named(MONEY_READERS)),
  ['GET /chargeback', MONEY_READERS],
  ['GET /slices', MONEY_READERS],
  ['GET /keys/{hash}/access', MONEY_READERS],
  ['GET /slices/generations', READERS],
  ['POST /ledger/entries', MONEY_KEEPERS],
  ...[
    'POST /keys',
    'PATCH /keys/{hash}',
    'DELETE /keys/{hash}',
    'POST /keys/{hash}/rotate',
    'DELETE /keys/{hash}/previous',
    'POST /keys/import',
  ].map(named(ADMINS)),
  ...['GET /status', 'GET /generations', 'GET /generations/{id}', 'POST /generations/{id}/plan', 'GET /refusals'].map(named(READERS)),
  ...['GET /guardrails', 'GET /guardrails/{id}', 'POST /guardrails/test', 'GET /configuration'].map(named(READERS)),
  ...['GET /events', 'GET /events/{id}', 'GET /events/deliveries', 'GET /events/receivers'].map(named(READERS)),
  ...['POST /guardrails', 'PATCH /guardrails/{id}', 'DELETE /guardrails/{id}', 'GET /audit'].map(named(ADMINS)),
  ...['POST /configuration/check', 'POST /configuration/rehearse', 'POST /events/{id}/redeliver'].map(named(ADMINS)),
  ['POST /events/receivers/{name}/enable', ADMINS],
  ...['GET /byok', 'GET /byok/{id}'].map(named(READERS)),
  ...['POST /byok', 'PATCH /byok/{id}', 'DELETE /byok/{id}', 'GET /audit/report'].map(named(ADMINS)),
  ...guardrailAssignments('keys'),
  ...guardrailAssignments('members'),
  ...guardrailAssignments('workspaces'),
  ...guardrailAssignments('organizations'),
  ...groups('/organizations'),
  ...groups('/workspaces'),
  ...levels('/members'),
  ['GET /organization/members', MONEY_READERS],
])

function named(roles: readonly Role[]): (operation: string) => [string, readonly Role[]] {
  return (operation) => [operation, roles]
}

interface Described {
  readonly 'x-required-roles'?: readonly Role[]
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: unknown }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { value: JsonObject }>> }>>
  }
}

interface DescribedOperation {
  readonly name: string
  readonly method: string
  /** With examples in the place of parameters. */
  readonly target: string
  readonly body: string | FormData | undefined
  readonly described: Described
}

const operations: DescribedOperation[] = []
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, Record<string, Described>> }
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, described] of Object.entries(methods)) {
    const example = (name: string): string =>
      String(described.parameters?.find((each) => each.in === 'path' && each.name === name)?.example ?? 'none')
    operations.push({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      target: `${gateway.url}/v1${path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(example(name)))}`,
      body: bodyFor(described),
      described,
    })
  }

/** A body that may be wrong: callers with the role learn that, and no others. */
function bodyFor({ requestBody }: Described): string | FormData | undefined {
  const [[type, content] = ['', undefined]] = Object.entries(requestBody?.content ?? {})
  if (type === 'multipart/form-data') {
    const form = new FormData()
    form.set('file', new File(['text'], 'a.txt'))
    return form
  }
  return content && JSON.stringify(Object.values(content.examples ?? {})[0]?.value ?? {})
}

interface Reply {
  readonly status: number
  readonly error: { readonly message?: string; readonly metadata?: { readonly required_roles?: unknown; readonly role?: unknown } }
}

async function send({ method, target, body }: DescribedOperation, key?: string): Promise<Reply> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  const reply = await fetch(target, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await reply.text()
  const parsed = text.startsWith('{') ? (JSON.parse(text) as { error?: Reply['error'] }) : {}
  return { status: reply.status, error: parsed.error ?? {} }
}

t.test('the description states the roles of every operation, and none is missing from the table', async (t) => {
  await every(t, 'every operation', async (t) => {
    for (const { name, described } of operations) {
      const expected = EXPECTED.get(name)
      t.ok(expected, `${name} stands in the table`)
      if (expected === 'none') t.same([described.security, described['x-required-roles']], [[], undefined], name)
      else t.same(described['x-required-roles'], expected, name)
    }
  })
  const known = new Set(operations.map(({ name }) => name))
  t.same(
    [...EXPECTED.keys()].filter((name) => !known.has(name)),
    [],
    'no operation of the table is gone',
  )
})

for (const role of [...ROLES, 'boss'] as const)
  t.test(`a key of the role ${role} calls what is open to it, and nothing else`, async (t) => {
    const own: Role = role === 'boss' ? 'owner' : role
    await every(t, 'every operation', async (t) => {
      for (const operation of operations) {
        const expected = EXPECTED.get(operation.name) ?? []
        const { status, error } = await send(operation, secret(role))
        if (expected === 'none' || expected.includes(own)) {
          t.notOk(status === 401 || error.metadata?.required_roles, `${operation.name}: ${status} ${error.message}`)
          continue
        }
        t.equal(status, 403, `${operation.name}: ${error.message}`)
        t.match(error.message, new RegExp(`${expected.at(-1)} can perform this operation: this one has the role ${own}$`), operation.name)
        // Errors of this dialect have no metadata.
        if (!/ \/messages/.test(operation.name)) t.match(error.metadata, { role: own, required_roles: expected }, operation.name)
      }
    })
  })

t.test('no key, an unknown one, and an owner that is disabled or has expired call nothing', async (t) => {
  await every(t, 'every operation', async (t) => {
    for (const operation of operations) {
      if (EXPECTED.get(operation.name) === 'none') continue
      for (const key of [undefined, secret('unknown'), secret('off'), secret('old')]) {
        const { status, error } = await send(operation, key)
        t.equal(status, 401, `${operation.name} with ${key}: ${error.message}`)
        t.notOk(error.metadata?.required_roles, 'a stranger does not learn the roles')
      }
    }
  })
})

t.test('the generation of another key is shown to the roles that read requests, and is 404 to the others', async (t) => {
  const headers = { authorization: `Bearer ${secret('member')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] })
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
  const id = reply.headers.get('x-generation-id')
  t.match([reply.status, id], [200, /^gen-/])
  const status = async (role: Role, path: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1${path}`, { headers: { authorization: `Bearer ${secret(role)}` } })).status
  t.equal(await status('member', `/generation?id=${id}`), 200, 'its own')
  for (const role of READERS)
    t.same([await status(role, `/generation?id=${id}`), await status(role, `/generations/${id}`)], [200, 200], role)
  t.same([await status('billing', `/generation?id=${id}`), await status('billing', `/generations/${id}`)], [404, 403])
})
