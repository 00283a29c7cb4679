/** Callers that want more than their role: higher keys, longer lives, secrets of others, and roles through tokens and sign-in. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { KEY, startGateway } from '../../support/gateway.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

const ROLES = ['member', 'viewer', 'billing', 'admin', 'owner'] as const
const OWNER = 'sk-router-v1-owner-0123456789abcdef'
const HOUR = 3_600_000

interface Reply {
  readonly status: number
  readonly data: JsonObject
  readonly key: string
  readonly message: string
}

interface Place extends Scene {
  readonly issuer: TokenIssuer
  readonly clock: FakeClock
  call(method: string, path: string, secret: string, body?: JsonObject): Promise<Reply>
  make(body: JsonObject, secret?: string): Promise<{ secret: string; hash: string }>
}

const ENDS = new Date(1_900_000_000_000).toISOString()

async function start(t: Test): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const config = issuerConfig(issuer, {
    rules: `[ ${ROLES.slice(1)
      .map((role) => `{ when: { groups: ${role}s }, name: ${role}s, role: ${role} }`)
      .join(', ')}, { when: { groups: ml-team }, name: ml } ]`,
    auth: `  sign_in: { callbacks: [ "https://app.example/*" ] }\n  keys: [ { name: test, key: "${KEY}" }, { name: owner, key: "${OWNER}", management: true } ]`,
  })
  const scene = await startScene(t, { clock, config })
  const call: Place['call'] = async (method, path, secret, body) => {
    const headers = { ...bearer(secret), ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const response = await fetch(`${scene.gateway.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const reply = (await response.json()) as { data?: JsonObject; key?: string; error?: { message?: string } }
    return { status: response.status, data: reply.data ?? {}, key: reply.key ?? '', message: reply.error?.message ?? '' }
  }
  const make: Place['make'] = async (body, secret = OWNER) => {
    const { status, data, key, message } = await call('POST', '/v1/keys', secret, { name: 'made', ...body })
    if (status !== 201) throw new Error(`expected a key, found ${status}: ${message}`)
    return { secret: key, hash: String(data.hash) }
  }
  return { ...scene, issuer, clock, call, make }
}

t.test('a key makes keys of the roles below its own, and an owner those of all', async (t) => {
  const { call, make } = await start(t)
  const expected: Record<string, readonly string[]> = { admin: ['member', 'viewer', 'billing'], owner: ROLES }
  await every(t, 'every pair of roles', async (t) => {
    for (const maker of ROLES) {
      const { secret } = await make({ role: maker })
      for (const role of ROLES) {
        const { status, data, message } = await call('POST', '/v1/keys', secret, { name: `${role} of ${maker}`, role })
        if (expected[maker]?.includes(role)) t.match([status, data.role], [201, role], `${maker} makes ${role}`)
        else t.match([status, message], [403, new RegExp(`role ${maker}`)], `${maker} does not make ${role}`)
      }
    }
  })
  const { status, message } = await call('POST', '/v1/keys', OWNER, { name: 'x', role: 'superuser' })
  t.match([status, message], [400, /^role: /], 'an unknown word is no role')
  t.equal((await call('POST', '/v1/keys', OWNER, { name: 'x', role: 'toString' })).status, 400)
  t.equal((await call('POST', '/v1/keys', OWNER, { name: 'x', role: ['owner'] })).status, 400)
  t.match((await call('POST', '/v1/keys', OWNER, { name: 'x' })).data, { role: 'member', is_management_key: false }, 'member without it')
})

t.test('no key raises itself, and an admin touches neither owners nor other admins', async (t) => {
  const { call, make } = await start(t)
  const admin = await make({ role: 'admin' })
  const other = await make({ role: 'admin' })
  const owner = await make({ role: 'owner' })
  await every(t, 'every attempt', async (t) => {
    for (const [method, path, body] of [
      ['PATCH', `/v1/keys/${admin.hash}`, { role: 'owner' }],
      ['PATCH', `/v1/keys/${admin.hash}`, { role: 'viewer' }],
      ...[other, owner].flatMap(({ hash }): [string, string, JsonObject?][] => [
        ['PATCH', `/v1/keys/${hash}`, { disabled: true }],
        ['PATCH', `/v1/keys/${hash}`, { role: 'viewer' }],
        ['PATCH', `/v1/keys/${hash}`, { name: 'mine' }],
        ['POST', `/v1/keys/${hash}/rotate`],
        ['DELETE', `/v1/keys/${hash}`],
      ]),
    ] as [string, string, JsonObject?][]) {
      const { status, message } = await call(method, path, admin.secret, body)
      t.match([status, message], [403, /role admin/], `${method} ${path} ${JSON.stringify(body)}`)
    }
  })
  for (const { secret } of [other, owner]) t.equal((await call('GET', '/v1/keys', secret)).status, 200, 'both work as before')
  const viewer = await make({ role: 'viewer' }, admin.secret)
  t.equal((await call('PATCH', `/v1/keys/${viewer.hash}`, admin.secret, { role: 'admin' })).status, 403, 'nor does it raise a lesser one')
  t.match((await call('PATCH', `/v1/keys/${viewer.hash}`, admin.secret, { role: 'billing' })).data, { role: 'billing' })
  t.equal((await call('POST', '/v1/ledger/entries', viewer.secret, {})).status, 400, 'the new role holds at once')
  t.equal((await call('PATCH', `/v1/keys/${viewer.hash}`, OWNER, { role: 'admin' })).status, 200)
  t.match((await call('GET', '/v1/key', viewer.secret)).data, { role: 'admin', is_management_key: true })
  const rotated = await call('POST', `/v1/keys/${admin.hash}/rotate`, admin.secret)
  t.match([rotated.status, rotated.data.role], [200, 'admin'], 'it gives itself a new secret, and keeps its role')
  t.equal((await call('GET', '/v1/keys', admin.secret)).status, 401)
  t.equal((await call('DELETE', `/v1/keys/${String(rotated.data.hash)}`, rotated.key)).status, 200, 'and deletes itself')
})

t.test('a key that generates never becomes one that manages, nor the other way round', async (t) => {
  const { call, make } = await start(t)
  const member = await make({})
  const viewer = await make({ role: 'viewer' })
  for (const [{ hash }, role] of [
    [member, 'viewer'],
    [member, 'owner'],
    [viewer, 'member'],
  ] as const)
    t.match(await call('PATCH', `/v1/keys/${hash}`, OWNER, { role }), { status: 400, message: /^role: .*expected a new key/ })
  t.equal(
    (await call('PATCH', `/v1/keys/${member.hash}`, OWNER, { role: 'member', limit: 1 })).status,
    200,
    'the role that it has is no change',
  )
  t.equal((await call('POST', '/v1/keys', OWNER, { name: 'x', role: 'viewer', parent: 'ml' })).status, 400, 'it draws on no budget')
  for (const path of ['/v1/keys', '/v1/audit', '/v1/ledger/entries', '/v1/configuration', '/v1/status'])
    t.equal((await call('GET', path, member.secret)).status, 403, `a member: ${path}`)
})

t.test('a management key ends with its maker at the latest', async (t) => {
  const { call, make, clock } = await start(t)
  const soon = new Date(clock.now() + HOUR).toISOString()
  const late = new Date(clock.now() + 2 * HOUR).toISOString()
  const brief = await make({ role: 'owner', expires_at: soon })
  t.match((await call('POST', '/v1/keys', brief.secret, { name: 'heir', role: 'owner' })).data, { expires_at: soon }, 'by itself')
  t.match(await call('POST', '/v1/keys', brief.secret, { name: 'heir', role: 'viewer', expires_at: late }), {
    status: 400,
    message: /^expires_at: a management key ends with its maker/,
  })
  t.match(
    (await call('POST', '/v1/keys', brief.secret, { name: 'app', expires_at: late })).data,
    { expires_at: late },
    'an ordinary key may live on',
  )
  const lasting = await make({ role: 'viewer' })
  t.match(await call('POST', `/v1/keys/${lasting.hash}/rotate`, brief.secret), { status: 403, message: /manage for longer/ })
  t.match(await call('PATCH', `/v1/keys/${lasting.hash}`, brief.secret, { role: 'owner' }), { status: 403, message: /manage for longer/ })
  t.equal((await call('PATCH', `/v1/keys/${lasting.hash}`, brief.secret, { disabled: true })).status, 200, 'it may be stopped')
  const heir = await make({ role: 'viewer', expires_at: soon }, brief.secret)
  await clock.advance(HOUR)
  for (const { secret } of [brief, heir]) t.equal((await call('GET', '/v1/keys', secret)).status, 401, 'both have ended')
})

t.test('a token has the role of its rule until its end, and gives none beyond it', async (t) => {
  const { call, issuer, clock, ask, gateway, make } = await start(t)
  const viewer = await issuer.token({ groups: ['viewers'] })
  t.equal((await call('GET', '/v1/keys', viewer)).status, 200)
  t.equal((await call('POST', '/v1/keys', viewer, { name: 'x' })).status, 403)
  t.equal((await call('GET', '/v1/audit', viewer)).status, 403)
  t.equal((await ask({}, 'chat', bearer(viewer))).status, 403, 'a manager calls no models')
  const member = await issuer.token({})
  t.equal((await call('GET', '/v1/keys', member)).status, 403)
  t.equal((await ask({}, 'chat', bearer(member))).status, 200)
  t.equal(
    (await call('GET', '/v1/keys', await issuer.token({ groups: ['ml-team'], role: 'owner' }))).status,
    403,
    'a claim of its own gives none',
  )

  const owner = await issuer.token({ groups: ['owners'] })
  const made = await call('POST', '/v1/keys', owner, { name: 'for later', role: 'owner' })
  t.equal(made.status, 201)
  t.ok(Date.parse(String(made.data.expires_at)) <= clock.now() + 330_000, 'it ends with the token')
  t.equal((await call('POST', '/v1/keys', owner, { name: 'for ever', role: 'admin', expires_at: ENDS })).status, 400)
  const lasting = await make({ role: 'owner' })
  t.equal((await call('POST', `/v1/keys/${lasting.hash}/rotate`, owner)).status, 403, 'nor is the secret of another one read')
  const code = { callback_url: 'https://app.example/back', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  t.equal((await call('POST', '/v1/auth/keys/code', owner, code)).status, 403, 'it signs in to no application')
  t.equal((await call('POST', '/v1/auth/keys/code', OWNER, code)).status, 403)
  await clock.advance(331_000)
  for (const secret of [owner, viewer, made.key]) t.equal((await call('GET', '/v1/keys', secret)).status, 401, 'all have ended')
  const audit = (await (await gateway.get('/v1/audit?action=key.created', bearer(OWNER))).json()) as { data: JsonObject[] }
  t.match(
    audit.data.find(({ subject }) => subject === made.data.hash),
    { actor: { kind: 'member', name: 'alice (owners)' }, after: { role: 'owner' } },
  )
})

t.test('the audit log has roles before and after', async (t) => {
  const { call, make, gateway } = await start(t)
  const { hash } = await make({ role: 'viewer' })
  await call('PATCH', `/v1/keys/${hash}`, OWNER, { role: 'admin' })
  const { data } = (await (await gateway.get(`/v1/audit?subject=${hash}&order=oldest`, bearer(OWNER))).json()) as { data: JsonObject[] }
  t.match(data, [
    { action: 'key.created', before: null, after: { role: 'viewer' } },
    { action: 'key.changed', before: { role: 'viewer' }, after: { role: 'admin' } },
  ])
})

t.test('the operator makes keys of every role, and a word that is none makes no key', async (t) => {
  const { call, gateway } = await start(t)
  const command = async (fields: JsonObject): Promise<{ status: number; key: string }> => {
    const body = JSON.stringify({ verb: 'create', fields })
    const reply = await adminFetch(`${gateway.admin}/keys/command`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return { status: reply.status, key: String(((await reply.json()) as JsonObject).key) }
  }
  for (const role of ROLES) {
    const { status, key } = await command({ name: `an ${role}`, role })
    t.equal(status, 200)
    t.match((await call('GET', '/v1/key', key)).data, { role, is_management_key: role !== 'member' })
  }
  t.equal((await command({ name: 'x', role: 'root' })).status, 400)
})

t.test('a role of the store that is no role of this version opens nothing', async (t) => {
  const file = join(t.testdir(), 'keys.db')
  const yaml = `store: { url: "sqlite:${file}" }
auth: { keys: [ { name: owner, key: "${OWNER}", management: true } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }`
  const first = await startGateway(yaml)
  const json = { ...bearer(OWNER), 'content-type': 'application/json' }
  const made = await fetch(`${first.url}/v1/keys`, { method: 'POST', headers: json, body: '{"name":"made","role":"viewer"}' })
  const { key, data } = (await made.json()) as { key: string; data: { hash: string } }
  t.equal((await first.get('/v1/keys', bearer(key))).status, 200)
  await first.close()
  const db = new DatabaseSync(file)
  db.exec("UPDATE api_key SET role = 'auditor', management = 1, expires_at = NULL")
  db.close()
  const gateway = await startGateway(yaml)
  t.teardown(() => gateway.close())
  for (const path of ['/v1/key', '/v1/keys', '/v1/models']) t.equal((await gateway.get(path, bearer(key))).status, 401, path)
  const listed = (await (await gateway.get(`/v1/keys/${data.hash}`, bearer(OWNER))).json()) as { data: JsonObject }
  t.match(listed.data, { role: null, disabled: true, is_management_key: false })
  const enabled = await fetch(`${gateway.url}/v1/keys/${data.hash}`, { method: 'PATCH', headers: json, body: '{"disabled":false}' })
  t.equal(enabled.status, 409, 'it cannot be enabled here')
  t.equal((await gateway.get('/v1/key', bearer(key))).status, 401)
})
