/** Users over SCIM: what Entra ID, Okta and Keycloak's clients send, and what it does to members, tokens and the audit log. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { ENTERPRISE_URN, SCIM_TOKEN, ScimClient, startScim, USER_URN } from '../../support/scim-client.ts'
import { bearer, startIssuer } from '../../support/token-issuer.ts'

const OKTA_USER = {
  userName: 'test.user@okta.local',
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: '00ujl29u0le5T6Aj10h7',
  groups: [],
  password: '1mz050nq',
  active: true,
}

t.test('a user is read as it was written, but for its password', async (t) => {
  const { scim, manage, gateway } = await startScim(t)
  const made = await scim.addUser(OKTA_USER.userName, OKTA_USER)
  t.equal(made.status, 201)
  t.match(made.headers.get('content-type'), 'application/scim+json')
  const { id } = made.body
  t.equal(made.headers.get('location'), `${gateway.url}/scim/v2/Users/${id}`)
  const { password, groups: _, ...shown } = OKTA_USER
  const { body, headers } = await scim.get(`/Users/${id}`)
  t.match(body, { ...shown, schemas: [USER_URN], meta: { resourceType: 'User', location: made.headers.get('location') ?? '' } })
  t.notOk('password' in body || 'groups' in body)
  t.equal(headers.get('etag'), (body.meta as JsonObject).version)
  const { data } = (await manage('/organizations/default/members')).body as { data: JsonObject[] }
  t.match(data, [{ id, user_id: OKTA_USER.userName, name: 'Test User', role: 'member' }])
  const everything = JSON.stringify([
    await gateway.running.store.levels.since(0, 100),
    await gateway.running.store.auditLog.page({ after: 0, limit: 100 }),
    gateway.logs,
  ])
  t.notMatch(everything, password)
  t.notMatch(everything, SCIM_TOKEN)
})

t.test('patches of Entra ID are taken as they are meant', async (t) => {
  const { scim } = await startScim(t)
  const { body: made } = await scim.addUser('ada@acme.example', {
    externalId: 'ada',
    active: true,
    [ENTERPRISE_URN]: { department: 'R&D' },
  })
  const path = `/Users/${made.id}`
  const work = 'emails[type eq "work"].value'
  const after = async (...operations: JsonObject[]): Promise<JsonObject> => {
    const { status, body } = await scim.patch(path, operations)
    t.equal(status, 200, JSON.stringify(body).slice(0, 200))
    return body
  }
  t.match(await after({ op: 'Replace', path: 'active', value: 'False' }), { active: false })
  t.match(await after({ op: 'replace', value: { active: 'True' } }), { active: true })
  t.match(await after({ op: 'Add', path: work, value: 'ada@acme.example' }), { emails: [{ type: 'work', value: 'ada@acme.example' }] })
  t.same((await after({ op: 'Replace', path: work, value: 'lovelace@acme.example' })).emails, [
    { type: 'work', value: 'lovelace@acme.example' },
  ])
  t.match(await after({ op: 'Replace', path: 'phoneNumbers[type eq "mobile"].value', value: '+1' }), {
    phoneNumbers: [{ type: 'mobile', value: '+1' }],
  })
  t.match(
    await after({ op: 'Add', path: `${ENTERPRISE_URN}:manager`, value: 'the-manager' }, { op: 'Add', path: 'DISPLAYNAME', value: 'Ada' }),
    { [ENTERPRISE_URN]: { department: 'R&D', manager: { value: 'the-manager' } }, displayName: 'Ada' },
  )
  t.match(await after({ op: 'replace', value: { 'name.givenName': 'Augusta', [`${ENTERPRISE_URN}:employeeNumber`]: '1', id: 'x' } }), {
    id: made.id,
    name: { givenName: 'Augusta' },
    [ENTERPRISE_URN]: { department: 'R&D', employeeNumber: '1' },
  })
  const removed = await after({ op: 'Remove', path: work }, { op: 'Remove', path: `${ENTERPRISE_URN}:department` })
  t.notOk('emails' in removed, 'an element without anything is gone')
  t.notOk('department' in (removed[ENTERPRISE_URN] as JsonObject))
  const primary = await after(
    { op: 'add', path: 'emails', value: [{ value: 'a@b.c', primary: true }] },
    { op: 'add', path: 'emails', value: [{ value: 'd@e.f', primary: true }] },
  )
  t.same(
    (primary.emails as JsonObject[]).map((each) => each.primary),
    [false, true],
    'there is one primary value',
  )
})

t.test('a wrong request is refused with its scimType, and changes nothing', async (t) => {
  const { scim } = await startScim(t)
  const { body: made } = await scim.addUser('ada@acme.example')
  const path = `/Users/${made.id}`
  const wrong: [JsonObject[], string][] = [
    [[{ op: 'move', path: 'title' }], 'invalidSyntax'],
    [[{ op: 'remove' }], 'noTarget'],
    [[{ op: 'replace', path: 'nothing', value: 1 }], 'invalidPath'],
    [[{ op: 'replace', path: 'emails[type eq', value: 'x' }], 'invalidPath'],
    [[{ op: 'replace', path: 'emails[kind eq "x"].value', value: 'x' }], 'invalidFilter'],
    [[{ op: 'replace', path: 'emails[type co "w"].value', value: 'x' }], 'noTarget'],
    [[{ op: 'replace', path: 'id', value: 'x' }], 'mutability'],
    [[{ op: 'remove', path: 'userName' }], 'mutability'],
    [[{ op: 'replace', path: 'active', value: 'maybe' }], 'invalidValue'],
    [[{ op: 'replace', path: 'title', value: { a: 1 } }], 'invalidValue'],
    [
      [
        { op: 'replace', path: 'title', value: 'Countess' },
        { op: 'add', path: '__proto__.polluted', value: 1 },
      ],
      'invalidPath',
    ],
    [[{ op: 'add', value: { userName: '' } }], 'invalidValue'],
    [[{ op: 'add', path: 'emails', value: Array.from({ length: 101 }, (_, at) => ({ value: `${at}@x.example` })) }], 'invalidValue'],
  ]
  await every(t, 'refused patches', async (t) => {
    for (const [operations, scimType] of wrong) {
      const { status, body } = await scim.patch(path, operations)
      t.match({ status, body }, { status: 400, body: { status: '400', scimType, schemas: [/messages:2.0:Error$/] } }, JSON.stringify(body))
    }
  })
  t.equal(({} as JsonObject).polluted, undefined)
  t.same((await scim.get(path)).body, made)
  t.match(await scim.call('POST', '/Users', { userName: 'x' }), { status: 400, body: { scimType: 'invalidSyntax' } })
  t.match(
    await scim.addUser('x', {
      emails: [
        { value: 'a', primary: true },
        { value: 'b', primary: true },
      ],
    }),
    { status: 400 },
  )
  t.match(await scim.addUser('a\u202eb'), { status: 400, body: { detail: /^userName: / } })
  t.match(await scim.call('POST', '/Users', '{'), { status: 400, body: { status: '400' } })
  t.match(await scim.addUser('long', { title: 'x'.repeat(9_000) }), { status: 400, body: { detail: /^title: / } })
})

t.test('a userName is there once, whatever the case and spelling of its letters', async (t) => {
  const { scim } = await startScim(t)
  t.equal((await scim.addUser('Zo\u00eb@acme.example')).status, 201)
  for (const name of ['zo\u00eb@acme.example', 'ZOE\u0308@ACME.example', ' Zo\u00eb@acme.example '])
    t.match(await scim.addUser(name), { status: 409, body: { scimType: 'uniqueness' } })
  const { body: other } = await scim.addUser('bob@acme.example')
  t.match(await scim.patch(`/Users/${other.id}`, [{ op: 'replace', path: 'userName', value: 'zo\u00eb@ACME.example' }]), {
    status: 409,
    body: { scimType: 'uniqueness' },
  })
  const runs = await Promise.all(
    Array.from({ length: 12 }, (_, at) => scim.addUser(at % 2 === 0 ? 'eve@acme.example' : 'EVE@acme.example')),
  )
  t.equal(runs.filter(({ status }) => status === 201).length, 1, 'two runs at once make one user')
  t.equal(runs.filter(({ status }) => status === 409).length, 11)
})

t.test('a user that is inactive or removed is refused with every token, and comes back as the same member', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const auth = `  issuers: [ { issuer: "${issuer.url}", audiences: [ headgate ], member: email, rules: [ { when: {} } ] } ]`
  const { gateway, scim, manage } = await startScim(t, { clock, auth })
  const token = bearer(await issuer.token({ email: 'ada@acme.example' }))
  const status = async (): Promise<number> => (await gateway.get('/v1/key', token)).status
  const { body: ada } = await scim.addUser('Ada@acme.example')
  const key = String((await manage('/keys', 'POST', { name: 'of ada', member_id: ada.id as string })).body.key)
  const withKey = async (): Promise<number> => (await gateway.get('/v1/key', bearer(key))).status
  t.same([await status(), await withKey()], [200, 200])
  await scim.patch(`/Users/${ada.id}`, [{ op: 'Replace', path: 'active', value: 'False' }])
  t.same([await status(), await withKey()], [403, 403])
  t.match(await scim.call('PUT', `/Users/${ada.id}`, { schemas: [USER_URN], userName: 'Ada@acme.example', title: 'Countess' }), {
    body: { active: false, title: 'Countess' },
  })
  t.equal(await status(), 403, 'PUT without the attribute enables no user')
  await scim.patch(`/Users/${ada.id}`, [{ op: 'replace', value: { active: true } }])
  t.same([await status(), await withKey()], [200, 200])
  t.equal((await scim.call('DELETE', `/Users/${ada.id}`)).status, 204)
  t.same([await status(), await withKey()], [403, 403], 'a rule that takes any caller does not take one that was removed')
  for (const method of ['GET', 'DELETE']) t.equal((await scim.call(method, `/Users/${ada.id}`)).status, 404)
  t.same((await scim.list('/Users')).total, 0)
  const again = await scim.addUser('ada@acme.example')
  t.equal(again.status, 201)
  t.same([await status(), await withKey()], [200, 200])
})

t.test('members that were added by hand are users; service accounts and other organisations are not', async (t) => {
  const { scim, manage } = await startScim(t)
  await manage('/organizations/default/members/add', 'POST', { user_ids: ['ada@acme.example'] })
  await manage('/organizations/default/members/add', 'POST', { user_ids: ['robot'], is_service_account: true })
  await manage('/organizations', 'POST', { name: 'Other', slug: 'other' })
  const other = await manage('/organizations/other/members/add', 'POST', { user_ids: ['bob@acme.example'] })
  const { resources } = await scim.list('/Users')
  t.match(resources, [{ userName: 'ada@acme.example', active: true }])
  const [foreign] = other.body.data as JsonObject[]
  for (const id of [String(foreign?.id), 'x', '..%2FGroups', '%00', 'a/b'])
    for (const method of ['GET', 'DELETE']) t.equal((await scim.call(method, `/Users/${id}`)).status, 404, id)
})

t.test('lists are filtered, sorted, paged and cut to attributes', async (t) => {
  const { scim, clock } = await startScim(t)
  const names = ['carol', 'Ada', 'bob', 'dave']
  for (const [at, name] of names.entries()) {
    await clock.advance(1_000)
    await scim.addUser(`${name}@acme.example`, {
      externalId: `e${at}`,
      title: at % 2 === 0 ? 'even' : 'odd',
      emails: [{ value: `${name}@x.example`, type: 'work' }],
    })
  }
  const shown = async (query: string): Promise<string[]> =>
    (await scim.list(`/Users?${query}`)).resources.map(({ userName }) => String(userName).split('@')[0] ?? '')
  t.same(await shown(''), names)
  t.same(await shown('sortBy=userName'), ['Ada', 'bob', 'carol', 'dave'])
  t.same(await shown('sortBy=userName&sortOrder=descending&startIndex=2&count=2'), ['carol', 'bob'])
  t.same(await shown('sortBy=emails&startIndex=0&count=1'), ['Ada'])
  t.same(await shown('filter=externalId%20eq%20%22e2%22'), ['bob'])
  t.same(await shown('filter=userName%20eq%20%22ADA%40acme.example%22'), ['Ada'])
  t.same(await shown(`filter=${encodeURIComponent('title eq "even" and not (userName sw "bob")')}`), ['carol'])
  t.same(await scim.list('/Users?count=0'), { total: 4, resources: [] })
  t.match((await scim.get('/Users?count=1&startIndex=2')).body, { totalResults: 4, startIndex: 2, itemsPerPage: 1 })
  const [few] = (await scim.list('/Users?attributes=emails.value,title&count=1')).resources
  t.match(few, { id: String, schemas: [USER_URN], userName: 'carol@acme.example', title: 'even' })
  t.same(few?.emails, [{ value: 'carol@x.example' }])
  t.notOk('meta' in (few ?? {}))
  const [most] = (await scim.list('/Users?excludedAttributes=emails.type,title,userName&count=1')).resources
  t.same(most?.emails, [{ value: 'carol@x.example' }])
  t.notOk('title' in (most ?? {}))
  t.equal(most?.userName, 'carol@acme.example', 'what is always returned cannot be left out')
  const search = { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'], filter: 'title eq "odd"', count: 1 }
  t.match(await scim.call('POST', '/Users/.search', search), { status: 200, body: { totalResults: 2, itemsPerPage: 1 } })
  t.match(await scim.call('POST', '/.search', { ...search, filter: 'displayName pr' }), { status: 200, body: { totalResults: 0 } })
  for (const query of ['count=x', 'startIndex=1.5', 'sortBy=nothing', 'attributes=a&excludedAttributes=b', 'sortOrder=up'])
    t.equal((await scim.get(`/Users?${query}`)).status, 400, query)
})

t.test('versions hold: If-Match is met or refused, and of PUT and PATCH at once none is lost', async (t) => {
  const { scim } = await startScim(t)
  const { body: made } = await scim.addUser('ada@acme.example')
  const path = `/Users/${made.id}`
  const { version } = made.meta as { version: string }
  const title = [{ op: 'replace', path: 'title', value: 'Countess' }]
  t.equal((await scim.get(path, { 'if-none-match': version })).status, 304)
  t.equal((await scim.patch(path, title, { 'if-match': version })).status, 200)
  t.match(await scim.patch(path, title, { 'if-match': version }), { status: 412 })
  t.match(await scim.call('PUT', path, { schemas: [USER_URN], userName: 'x' }, { 'if-match': version }), { status: 412 })
  t.match(await scim.call('DELETE', path, undefined, { 'if-match': version }), { status: 412 })
  t.equal((await scim.patch(path, title, { 'if-match': '*' })).status, 200)
  const kinds = ['title', 'nickName', 'locale', 'timezone', 'userType', 'profileUrl']
  await Promise.all([
    ...kinds.map((name) => scim.patch(path, [{ op: 'replace', path: name, value: name }])),
    ...Array.from({ length: 4 }, () => scim.patch(path, [{ op: 'add', path: 'emails', value: [{ value: 'a@x.example' }] }])),
  ])
  const { body } = await scim.get(path)
  t.match(body, { ...Object.fromEntries(kinds.map((name) => [name, name])), emails: [{ value: 'a@x.example' }] })
  const racing = await Promise.all([
    scim.call('PUT', path, { schemas: [USER_URN], userName: 'ada@acme.example', title: 'put' }),
    scim.patch(path, [{ op: 'replace', path: 'nickName', value: 'patched' }]),
  ])
  t.same(
    racing.map(({ status }) => status),
    [200, 200],
  )
  const end = (await scim.get(path)).body
  t.equal(end.title, 'put')
  t.ok(end.nickName === 'patched' || end.nickName === undefined, 'one came after the other')
})

t.test('only a token of the configuration opens it, and wrong ones are counted', async (t) => {
  const { gateway, scim } = await startScim(t, { more: 'server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 40 } }' })
  const status = async (token: string): Promise<number> => (await new ScimClient(() => gateway.url, token).get('/Users')).status
  t.equal(await status(gateway.key), 401, 'a key of the API is none')
  t.equal((await fetch(`${gateway.url}/scim/v2/Users`)).headers.get('www-authenticate'), 'Bearer realm="scim"')
  t.equal((await gateway.get('/v1/key', bearer(SCIM_TOKEN))).status, 401, 'and a token opens nothing else')
  const many = await Promise.all(Array.from({ length: 60 }, (_, at) => status(`wrong-${at}`)))
  t.ok(many.includes(429), 'guesses end')
  t.equal((await scim.get('/Users')).status, 200, 'the right one is let in meanwhile')
})

t.test('the audit log has each change, by the identity provider', async (t) => {
  const { gateway, scim } = await startScim(t)
  const { body: made } = await scim.addUser('ada@acme.example', { phoneNumbers: [{ value: '+1-secret-number' }] })
  const path = `/Users/${made.id}`
  await scim.patch(path, [{ op: 'replace', path: 'phoneNumbers[type eq "work"].value', value: '+2' }])
  await scim.patch(path, [{ op: 'replace', value: { active: false, displayName: 'Ada' } }])
  await scim.patch(path, [{ op: 'replace', value: { active: false } }])
  await scim.call('DELETE', path)
  const page = await gateway.running.store.auditLog.page({ after: 0, limit: 100 })
  const entries = page.map(({ entry }) => JSON.parse(entry) as JsonObject).filter(({ subject }) => subject === made.id)
  const actor = { kind: 'identity_provider', id: 'entra', name: 'entra' }
  t.match(entries, [
    {
      action: 'member.created',
      actor,
      address: '127.0.0.1',
      after: { userId: 'ada@acme.example', provisioned_attributes: ['active', 'phoneNumbers', 'userName'] },
    },
    { action: 'member.changed', actor, before: { provisioned_version: 1 }, after: { provisioned_version: 2 } },
    { action: 'member.changed', actor, before: { disabled: false, name: 'ada@acme.example' }, after: { disabled: true, name: 'Ada' } },
    { action: 'member.changed', actor, after: { provisioning_ended: true } },
  ])
  t.equal(entries.length, 4, 'what changes nothing is no entry')
  t.notMatch(JSON.stringify(page), 'secret-number')
})

t.test('what is not served says so', async (t) => {
  const { gateway, scim } = await startScim(t)
  t.equal((await scim.call('POST', '/Bulk', {})).status, 501)
  t.equal((await scim.get('/Me')).status, 501)
  t.equal((await scim.get('/Nothing')).status, 404)
  t.match(await scim.call('PUT', '/Users', {}), { status: 405, body: { status: '405' } })
  t.match(await scim.get('/ServiceProviderConfig'), {
    body: { bulk: { supported: false }, patch: { supported: true }, sort: { supported: true }, etag: { supported: true } },
  })
  t.equal((await scim.get('/Schemas?filter=id%20pr')).status, 403)
  const head = await fetch(`${gateway.url}/scim/v2/Users`, { method: 'HEAD', headers: bearer(SCIM_TOKEN) })
  t.same([head.status, await head.text()], [200, ''])
})
