/** Guardrails that are made and changed over the API: they hold as those of the file do, from the next request on. */
import t from 'tap'
import { DEFAULT_GUARDRAIL } from '../../../src/api/guardrail-entry.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { WORKSPACE as OWN_WORKSPACE } from '../../../src/core/workspace.ts'
import { adminFetch } from '../../support/admin.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { answeredData, answeredStages, bodyRows, guardrailScene, HASHES, SECRETS } from '../../support/guardrail-scene.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const WORKSPACE = '00000000-0000-8000-8000-000000000001'
const DEFAULT = '00000000-0000-8000-8000-000000000002'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const NOBODY = '0df9e665-d932-5740-b2c7-b52af166bc11'
const EMAIL = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] }
const BLOCK = { content_filters: [{ pattern: 'forbidden-[0-9]+', action: 'block', label: 'FORBIDDEN' }] }
const assignmentsPath = (id: string): string => `/guardrails/${id}/assignments/keys`

t.test('made, shown, changed, removed', async (t) => {
  const { call } = await guardrailScene(t)
  t.same((await call('GET', '/guardrails')).body, { data: [], total_count: 0 })
  const made = await call('POST', '/guardrails', {
    name: 'My guardrail',
    description: 'What it is for',
    limit_usd: 50,
    reset_interval: 'monthly',
    allowed_models: ['uno', 'acme/two:nitro', 'acme/*'],
    allowed_providers: ['first', 'second/turbo'],
    enforce_zdr: true,
    enforce_zdr_google: false,
    enforce_zdr_xai: null,
    content_filters: [{ pattern: '\\b(sk-[a-z]{4})\\b', action: 'redact', label: null }],
    content_filter_builtins: [{ slug: 'email', action: 'redact', label: '[MINE]' }],
    include_byok_in_budgets: true,
    workspace_id: WORKSPACE,
  })
  const data = answeredData(made)
  t.equal(made.status, 201)
  t.match(data.id, UUID)
  t.match(data.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const { id, created_at, ...rest } = data
  t.same(rest, {
    name: 'My guardrail',
    description: 'What it is for',
    limit_usd: 50,
    reset_interval: 'monthly',
    include_byok_in_budgets: true,
    allowed_models: ['acme/one', 'acme/two', 'acme/*'],
    ignored_models: null,
    allowed_providers: ['first', 'second/turbo'],
    ignored_providers: null,
    enforce_zdr: null,
    enforce_zdr_anthropic: true,
    enforce_zdr_openai: true,
    enforce_zdr_google: false,
    enforce_zdr_xai: null,
    enforce_zdr_other: true,
    enable_free_model_publication: null,
    enable_free_model_training: null,
    enable_paid_model_training: null,
    content_filters: [{ pattern: '\\b(sk-[a-z]{4})\\b', action: 'redact', label: null }],
    content_filter_builtins: [{ slug: 'email', action: 'redact', label: '[EMAIL]' }],
    workspace_id: WORKSPACE,
    updated_at: null,
    scope: 'api-key',
    source: 'store',
  })
  t.same((await call('GET', `/guardrails/${id}`)).body, { data })
  const changed = await call('PATCH', `/guardrails/${id}`, {
    name: 'Another',
    allowed_models: null,
    content_filters: [],
    enforce_zdr: false,
    enforce_zdr_openai: true,
    phrases: ['for us only'],
  })
  t.equal(changed.status, 200)
  t.match(answeredData(changed), {
    name: 'Another',
    description: 'What it is for',
    limit_usd: 50,
    allowed_models: null,
    allowed_providers: ['first', 'second/turbo'],
    content_filters: [],
    enforce_zdr_anthropic: false,
    enforce_zdr_openai: true,
    phrases: ['for us only'],
    created_at,
    updated_at: String,
  })
  t.equal(answeredData(await call('PATCH', `/guardrails/${id}`, {})).name, 'Another', 'what is not named stays')
  t.same((await call('GET', '/guardrails')).body.total_count, 1)
  t.same((await call('GET', `/guardrails?workspace_id=${NOBODY}`)).body, { data: [], total_count: 0 })
  t.same((await call('DELETE', `/guardrails/${id}`)).body, { deleted: true })
  for (const method of ['GET', 'PATCH', 'DELETE'])
    t.match(await call(method, `/guardrails/${id}`, method === 'PATCH' ? {} : undefined), {
      status: 404,
      body: { error: { code: 404, message: 'No such guardrail' } },
    })
})

t.test('pages, in the order of their making', async (t) => {
  const { call, make } = await guardrailScene(t, '  - { name: written, limit_usd: 1 }')
  for (let i = 0; i < 4; i++) await make({ name: `g${i}` })
  const names = async (query: string): Promise<unknown[]> =>
    bodyRows((await call('GET', `/guardrails${query}`)).body).map(({ name }) => name)
  t.equal((await names('')).length, 5)
  t.equal((await names(''))[0], 'written')
  t.same([...(await names('?limit=2')), ...(await names('?offset=2&limit=2')), ...(await names('?offset=4'))], await names(''))
  t.match((await call('GET', '/guardrails?offset=9')).body, { data: [], total_count: 5 })
  await every(t, 'every case', async (t) => {
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['offset=-1', 'offset'],
      ['offset=x', 'offset'],
    ])
      for (const path of ['/guardrails', '/guardrails/assignments/keys', '/guardrails/assignments/members', assignmentsPath('written')])
        t.match(await call('GET', `${path}?${query}`), { status: 400, body: { error: { metadata: { field } } } }, `${path}?${query}`)
  })
})

t.test('those of the file are shown, and changed only there', async (t) => {
  const { call, make } = await guardrailScene(
    t,
    `  - { name: everywhere, enforce_zdr: true, enforce_zdr_xai: false, engine: { type: webhook, url: "https://guard.example/x", key: "sk-guard" } }
  - { name: scoped, scope: { keys: [ app ] }, content_filter_builtins: [ { slug: ssn, action: flag } ], include_byok_in_budgets: true, workspace_id: "${WORKSPACE}" }`,
  )
  const [everywhere, scoped] = bodyRows((await call('GET', '/guardrails')).body)
  t.match(everywhere, { id: 'everywhere', name: 'everywhere', source: 'configuration', scope: 'account', enforce_zdr_openai: true })
  t.match(everywhere, { enforce_zdr_xai: false, engine: { type: 'webhook' }, created_at: '1970-01-01T00:00:00.000Z', updated_at: null })
  t.notMatch(JSON.stringify(everywhere), /sk-guard|guard\.example/, 'neither the key of an engine nor its address')
  t.match(scoped, { id: 'scoped', scope: 'api-key', content_filter_builtins: [{ slug: 'ssn', action: 'flag', label: '[SSN]' }] })
  t.same(answeredData(await call('GET', '/guardrails/scoped')), scoped)
  t.match((await call('GET', assignmentsPath('scoped'))).body, {
    data: [{ guardrail_id: 'scoped', key_hash: HASHES.app, key_name: 'app', assigned_by: null }],
    total_count: 1,
  })
  const hashes = { key_hashes: [HASHES.app] }
  for (const [method, path, body] of [
    ['PATCH', '/guardrails/scoped', { name: 'x' }],
    ['DELETE', '/guardrails/scoped', undefined],
    ['POST', assignmentsPath('scoped'), hashes],
    ['POST', `${assignmentsPath('scoped')}/remove`, hashes],
  ] as const)
    t.match(await call(method, path, body), {
      status: 409,
      body: { error: { code: 409, message: 'The guardrail scoped stands in the configuration file: change it there' } },
    })
  const id = await make({ name: 'scoped' }, HASHES.app)
  t.match((await call('GET', '/guardrails/assignments/keys')).body, {
    data: [{ guardrail_id: 'scoped' }, { guardrail_id: id }],
    total_count: 2,
  })
})

t.test('returns 400 that names a field that cannot be saved, and changes nothing', async (t) => {
  const { call, make } = await guardrailScene(t)
  const id = await make({ name: 'kept', limit_usd: 1 })
  const before = (await call('GET', '/guardrails')).body
  const filter = (more: JsonObject): JsonObject => ({
    content_filters: [
      { pattern: 'a', action: 'block' },
      { pattern: 'b', action: 'flag', ...more },
    ],
  })
  const shared: [body: JsonObject, field: string][] = [
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: null }, 'name'],
    [{ description: 'x'.repeat(1001) }, 'description'],
    [{ limit_usd: -1 }, 'limit_usd'],
    [{ limit_usd: '5' }, 'limit_usd'],
    [{ limit_usd: 9_000_001 }, 'limit_usd'],
    [{ limit_usd: 1e-10 }, 'limit_usd'],
    [{ reset_interval: 'yearly' }, 'reset_interval'],
    [{ include_byok_in_budgets: null }, 'include_byok_in_budgets'],
    ...['allowed_models', 'ignored_models', 'allowed_providers', 'ignored_providers'].flatMap((list): [JsonObject, string][] => [
      [{ [list]: [] }, list],
      [{ [list]: 'x' }, list],
      [{ [list]: ['acme/one', 7] }, `${list}[1]`],
    ]),
    [{ ignored_models: ['acme/two', 'acme/nothing'] }, 'ignored_models[1]'],
    [{ ignored_providers: ['first', 'nobody/turbo'] }, 'ignored_providers[1]'],
    [{ enforce_zdr: 'yes' }, 'enforce_zdr'],
    [{ enforce_zdr_mistral: true }, 'enforce_zdr_mistral'],
    [{ enable_paid_model_training: 1 }, 'enable_paid_model_training'],
    [filter({ action: 'drop' }), 'content_filters[1].action'],
    [filter({ pattern: '' }), 'content_filters[1].pattern'],
    [filter({ pattern: 'x'.repeat(100_001) }), 'content_filters[1].pattern'],
    [filter({ label: 'x'.repeat(101) }), 'content_filters[1].label'],
    [{ content_filters: ['a', 'b', 'c'].map((letter) => ({ pattern: letter.repeat(70_000), action: 'flag' })) }, 'content_filters'],
    [{ content_filters: Array.from({ length: 1001 }, () => ({ pattern: 'a', action: 'flag' })) }, 'content_filters'],
    [filter({ flags: 'i' }), 'content_filters[1].flags'],
    [{ content_filter_builtins: [{ slug: 'passport', action: 'flag' }] }, 'content_filter_builtins[0].slug'],
    [{ content_filter_builtins: [{ slug: 'email' }] }, 'content_filter_builtins[0].action'],
    [{ content_filter_builtins: [{ slug: 'email', action: 'flag', scan_scope: 'user_only' }] }, 'content_filter_builtins[0].scan_scope'],
    [
      {
        content_filter_builtins: [
          { slug: 'email', action: 'flag' },
          { slug: 'email', action: 'block' },
        ],
      },
      'content_filter_builtins[1].slug',
    ],
    [{ phrases: [' '] }, 'phrases[0]'],
    [{ allowed_phrases: ['x'] }, 'allowed_phrases'],
    [{ direction: 'sideways' }, 'direction'],
    [{ direction: 'output', restore: true }, 'restore'],
    [{ max_price: { prompt: -1 } }, 'max_price.prompt'],
    [{ audit: 'none' }, 'audit'],
    [{ engine: { type: 'webhook', url: 'http://127.0.0.1/' } }, 'engine'],
    [{ scope: { keys: ['app'] } }, 'scope'],
  ]
  const at = (field: string): JsonObject => ({ error: { code: 400, metadata: { field } } })
  await every(t, 'every case', async (t) => {
    for (const [body, field] of shared) {
      const name = JSON.stringify(body).slice(0, 80)
      t.match(await call('POST', '/guardrails', { name: 'x', ...body }), { status: 400, body: at(field) }, `POST ${name}`)
      t.match(await call('PATCH', `/guardrails/${id}`, body), { status: 400, body: at(field) }, `PATCH ${name}`)
    }
  })
  t.match(await call('POST', '/guardrails', {}), { status: 400, body: at('name') })
  t.match(await call('POST', '/guardrails', { name: 'x', workspace_id: NOBODY }), { status: 400, body: at('workspace_id') })
  t.match(await call('PATCH', `/guardrails/${id}`, { workspace_id: WORKSPACE }), { status: 400, body: at('workspace_id') })
  t.same((await call('GET', '/guardrails')).body, before)
})

t.test('refuses a pattern that linear time cannot match when it is saved', async (t) => {
  const { call, make } = await guardrailScene(t)
  const id = await make({ name: 'kept' })
  await every(t, 'every pattern', async (t) => {
    for (const pattern of ['(?=a)b', '(?<!a)b', '(a)\\1', 'a**', '(', 'x*'])
      for (const [method, path] of [
        ['POST', '/guardrails'],
        ['PATCH', `/guardrails/${id}`],
      ])
        t.match(
          await call(method, path, {
            name: 'x',
            content_filters: [
              { pattern: 'ok', action: 'flag' },
              { pattern, action: 'flag' },
            ],
          }),
          {
            status: 400,
            body: {
              error: {
                message: /^content_filters\[1\]\.pattern: invalid_regex_pattern: /,
                metadata: { field: 'content_filters[1].pattern', reason: 'invalid_regex_pattern' },
              },
            },
          },
        )
  })
  t.equal(answeredData(await call('GET', `/guardrails/${id}`)).name, 'kept')
})

t.test('does nothing without an assignment, and holds from the next request on with one', async (t) => {
  const { call, make, say, seen } = await guardrailScene(t)
  const id = await make({ name: 'pii', ...EMAIL, ...BLOCK })
  const text = 'Write to anna@example.com'
  t.equal((await say(text)).status, 200)
  t.match(seen(), text)
  t.equal((await say('forbidden-1')).status, 200)
  t.same((await call('POST', assignmentsPath(id), { key_hashes: [HASHES.app, HASHES.app] })).body, { assigned_count: 1 })
  const held = await say(text)
  t.same(answeredStages(held), [[id, 'redacted']])
  t.match(seen(), 'Write to [EMAIL]')
  t.match(await say('forbidden-1'), {
    status: 403,
    body: {
      error: { message: 'Request blocked by content filter: FORBIDDEN', metadata: { patterns: ['forbidden-1'] } },
      router_metadata: { pipeline: [{ type: 'guardrail', guardrail_id: id, guardrail_scope: 'api-key' }] },
    },
  })
  t.equal((await say('forbidden-1', SECRETS.other)).status, 200, 'the other key is not held')
  await call('PATCH', `/guardrails/${id}`, { content_filters: [{ pattern: 'other-[0-9]+', action: 'block' }] })
  t.equal((await say('forbidden-1')).status, 200, 'collections are replaced')
  t.equal((await say('other-1')).status, 403)
  t.same((await call('POST', `${assignmentsPath(id)}/remove`, { key_hashes: [HASHES.app, HASHES.other, 'x'] })).body, {
    unassigned_count: 1,
  })
  t.equal((await say('other-1')).status, 200)
  await call('POST', assignmentsPath(id), { key_hashes: [HASHES.app] })
  t.equal((await say('other-1')).status, 403)
  await call('DELETE', `/guardrails/${id}`)
  t.equal((await say('other-1')).status, 200)
  t.same((await call('GET', '/guardrails/assignments/keys')).body, { data: [], total_count: 0 })
})

t.test('token ids, which no guardrail can read, are refused for the keys of a guardrail alone', async (t) => {
  const { call, make, upstream } = await guardrailScene(t)
  await make({ name: 'no-secrets', ...BLOCK }, HASHES.app)
  const body = { model: 'acme/vectors', input: [[1, 2]] }
  t.match(await call('POST', '/embeddings', body, SECRETS.app), {
    status: 400,
    body: { error: { message: /^input\[0\]: expected text: the guardrail no-secrets cannot read token ids$/ } },
  })
  t.equal(upstream.requests.length, 0)
  await call('POST', '/embeddings', body, SECRETS.other)
  t.match(upstream.requests.at(-1)?.json, { input: [[1, 2]] }, 'another key is served')
})

t.test('assignments: one for each key, listed, paged, bad ones named', async (t) => {
  const { call, make } = await guardrailScene(t)
  const [first, second] = [await make({ name: 'first' }, HASHES.app, HASHES.other), await make({ name: 'second' })]
  const shown = (await call('GET', assignmentsPath(first))).body
  t.match(shown, {
    data: [{ id: UUID, guardrail_id: first, assigned_by: 'boss', created_at: String, key_label: /\.\.\./ }, {}],
    total_count: 2,
  })
  t.same(
    bodyRows(shown)
      .map(({ key_hash }) => key_hash)
      .sort(),
    [HASHES.app, HASHES.other].sort(),
  )
  t.same((await call('POST', assignmentsPath(second), { key_hashes: [HASHES.app] })).body, { assigned_count: 1 })
  t.match((await call('GET', assignmentsPath(first))).body, { data: [{ key_name: 'other' }], total_count: 1 }, 'assigning replaces')
  t.match((await call('GET', '/guardrails/assignments/keys?limit=1')).body, { data: [{ key_name: 'other' }], total_count: 2 })
  t.match((await call('GET', '/guardrails/assignments/keys?offset=1')).body, {
    data: [{ key_name: 'app', guardrail_id: second }],
    total_count: 2,
  })
  await every(t, 'every path', async (t) => {
    for (const path of [assignmentsPath(first), `${assignmentsPath(first)}/remove`])
      for (const [body, field] of [
        [{}, 'key_hashes'],
        [{ key_hashes: [] }, 'key_hashes'],
        [{ key_hashes: [''] }, 'key_hashes[0]'],
        [{ key_hashes: HASHES.app }, 'key_hashes'],
        [{ key_hashes: [HASHES.app], keys: [] }, 'keys'],
      ] as const)
        t.match(await call('POST', path, body as unknown as JsonObject), { status: 400, body: { error: { metadata: { field } } } })
  })
  t.match(await call('POST', assignmentsPath(first), { key_hashes: [HASHES.app, 'f'.repeat(64)] }), {
    status: 400,
    body: { error: { message: 'key_hashes[1]: no such key' } },
  })
  t.match((await call('GET', assignmentsPath(first))).body, { total_count: 1 }, 'all or nothing')
  for (const path of [assignmentsPath(NOBODY), `${assignmentsPath(NOBODY)}/remove`])
    t.match(await call('POST', path, { key_hashes: [HASHES.app] }), { status: 404, body: { error: { message: 'No such guardrail' } } })
  t.equal((await call('GET', assignmentsPath(NOBODY))).status, 404)
})

t.test('a pattern that would take too long for each character is refused where it is saved', async (t) => {
  const { call } = await guardrailScene(t)
  t.match(await call('POST', '/guardrails', { name: 'slow', content_filters: [{ pattern: '(a|b|ab){1,200}', action: 'block' }] }), {
    status: 400,
    body: { error: { message: /takes too long for each character/, metadata: { field: 'content_filters[0].pattern' } } },
  })
})

t.test('members: an assignment to one who is not there is refused', async (t) => {
  const { call, make } = await guardrailScene(t)
  const id = await make({ name: 'of members', ...BLOCK })
  const path = `/guardrails/${id}/assignments/members`
  t.match(await call('POST', path, { member_user_ids: ['user_a', 'app'] }), {
    status: 400,
    body: { error: { message: /^member_user_ids\[0\]: no such member/, metadata: { field: 'member_user_ids[0]' } } },
  })
  t.equal((await call('POST', `/guardrails/${NOBODY}/assignments/members`, { member_user_ids: ['user_a'] })).status, 404)
  for (const listing of [path, '/guardrails/assignments/members', '/guardrails/assignments/keys'])
    t.match((await call('GET', listing)).body, { data: [], total_count: 0 }, listing)
  t.same((await call('POST', `${path}/remove`, { member_user_ids: ['user_a', 'nobody'] })).body, { unassigned_count: 0 })
  t.match(await call('POST', path, { member_user_ids: [] }), { status: 400, body: { error: { metadata: { field: 'member_user_ids' } } } })
})

t.test("the workspace's own guardrail holds for every request, once it is made", async (t) => {
  const { call, make, say } = await guardrailScene(t)
  t.equal((await call('GET', `/guardrails/${DEFAULT}`)).status, 404, 'not made yet')
  t.equal((await call('DELETE', `/guardrails/${DEFAULT}`)).status, 404)
  const made = await call('PATCH', `/guardrails/${DEFAULT}`, BLOCK)
  t.match(made, { status: 200, body: { data: { id: DEFAULT, name: 'Workspace default', scope: 'account' } } })
  for (const secret of [SECRETS.app, SECRETS.other])
    t.match(await say('forbidden-1', secret), {
      status: 403,
      body: { router_metadata: { pipeline: [{ guardrail_id: DEFAULT, guardrail_scope: 'account' }] } },
    })
  const id = await make({ name: 'pii', ...EMAIL }, HASHES.app)
  t.same(answeredStages(await say('anna@example.com')), [[id, 'redacted']])
  t.same(answeredStages(await say('anna@example.com forbidden-2')), [
    [DEFAULT, 'blocked'],
    [id, 'redacted'],
  ])
  t.match((await call('GET', '/guardrails/assignments/keys')).body, { total_count: 1 }, 'it is assigned to no key')
  await call('PATCH', `/guardrails/${DEFAULT}`, { name: 'House rules', content_filters: null })
  t.equal((await say('forbidden-1', SECRETS.other)).status, 200)
  await call('PATCH', `/guardrails/${DEFAULT}`, BLOCK)
  t.match(answeredData(await call('GET', `/guardrails/${DEFAULT}`)), { name: 'House rules' })
  t.same((await call('DELETE', `/guardrails/${DEFAULT}`)).body, { deleted: true })
  t.equal((await say('forbidden-1', SECRETS.other)).status, 200)
})

t.test('lists of the file, of the store and of the workspace intersect', async (t) => {
  const { call, make, say } = await guardrailScene(t, '  - { name: written, allowed_models: [ acme/one, acme/two ] }')
  const ask = async (model: string): Promise<unknown> => {
    const { status, body } = await say('Hello', SECRETS.app, { model })
    return status === 200 ? 200 : [status, object(body.error).message]
  }
  const id = await make({ name: 'stored', allowed_models: ['acme/two'] }, HASHES.app)
  t.match(await say('Hello', SECRETS.app, { model: 'acme/one' }), { status: 403, body: { error: { message: /stored/ } } })
  t.equal(await ask('acme/two'), 200)
  t.equal((await say('Hello', SECRETS.other, { model: 'acme/one' })).status, 200)
  await call('PATCH', `/guardrails/${DEFAULT}`, { ignored_providers: ['second'] })
  t.match(await say('Hello', SECRETS.app, { model: 'acme/two' }), { status: 403, body: { error: { message: /Workspace default/ } } })
  await call('PATCH', `/guardrails/${DEFAULT}`, { ignored_providers: null, enforce_zdr: true })
  t.equal(await ask('acme/two'), 200)
  t.equal((await say('Hello', SECRETS.other, { model: 'acme/one' })).status, 403)
  await call('DELETE', `/guardrails/${id}`)
})

t.test('lists show a key what its guardrails let it reach', async (t) => {
  const { call, make } = await guardrailScene(t, '  - { name: written, scope: { keys: [ other ] }, ignored_models: [ acme/one ] }')
  const slugs = async (secret: string, path = '/models'): Promise<unknown[]> =>
    bodyRows((await call('GET', path, undefined, secret)).body).map(({ id }) => id)
  t.same(await slugs(SECRETS.app), ['acme/one', 'acme/two'])
  t.same(await slugs(SECRETS.other), ['acme/two'])
  await make({ name: 'stored', allowed_providers: ['first'] }, HASHES.app)
  for (const path of ['/models', '/models/user']) t.same(await slugs(SECRETS.app, path), ['acme/one'], path)
  t.match(await call('GET', '/model/acme/two', undefined, SECRETS.app), { status: 404 })
  t.match((await call('GET', '/models/count', undefined, SECRETS.app)).body, { data: { count: 1 } })
  t.same(await slugs(SECRETS.other), ['acme/two'], 'each key its own')
  t.same(await slugs(SECRETS.boss), ['acme/one', 'acme/two'], 'who manages sees all')
  await call('PATCH', `/guardrails/${DEFAULT}`, { enforce_zdr: true })
  t.same(await slugs(SECRETS.app), [])
  t.same(await slugs(SECRETS.other), ['acme/two'])
})

t.test('checks every budget, for each key by itself', async (t) => {
  const { call, make, say } = await guardrailScene(t, '  - { name: written, limit_usd: 3 }')
  const id = await make({ name: 'tight', limit_usd: 2, reset_interval: 'daily' }, HASHES.app)
  const one = (secret?: string) => say('Hello', secret, { model: 'acme/one' })
  t.same([(await one()).status, (await one()).status], [200, 200])
  t.match(await one(), { status: 403, body: { error: { message: 'The daily budget of $2.00 of the guardrail tight is spent' } } })
  t.equal((await one(SECRETS.other)).status, 200, 'another key is not affected')
  await call('PATCH', `/guardrails/${id}`, { limit_usd: 5 })
  t.equal((await one()).status, 200)
  t.match(await one(), { status: 403, body: { error: { message: /of the guardrail written is spent/ } } })
  await call('PATCH', `/guardrails/${id}`, { limit_usd: null })
  t.equal((await one()).status, 403)
})

t.test('a budget below a millionth of a dollar is kept as it was said, in the store and in the file', async (t) => {
  const { call, make, say } = await guardrailScene(t, '  - { name: written, scope: { keys: [ other ] }, limit_usd: 2.5e-7 }')
  const id = await make({ name: 'tiny', limit_usd: 1e-7 }, HASHES.app)
  t.match((await call('GET', `/guardrails/${id}`)).body, { data: { limit_usd: 1e-7 } })
  const one = (secret?: string) => say('Hello', secret, { model: 'acme/one' })
  t.match(await one(), { status: 403, body: { error: { message: /budget of \$0\.0000001 of the guardrail tiny/ } } })
  t.match(await one(SECRETS.other), { status: 403, body: { error: { message: /budget of \$0\.00000025 of the guardrail written/ } } })
})

t.test('an assignment outlives a new secret, and holds for what the key gives to applications', async (t) => {
  const { call, make, say, gateway } = await guardrailScene(t, '  - { name: written, scope: { keys: [ other ] }, phrases: [ "no way" ] }')
  const made = await call('POST', '/keys', { name: 'stored' })
  const hash = String(answeredData(made).hash)
  const id = await make({ name: 'block', ...BLOCK }, hash)
  const rotated = await adminFetch(`${gateway.admin}/keys/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'rotate', key: hash }),
  })
  const secret = String(((await rotated.json()) as JsonObject).key)
  t.equal((await say('forbidden-1', secret)).status, 403)
  const [row] = bodyRows((await call('GET', assignmentsPath(id))).body)
  t.notSame(row.key_hash, hash, 'it is shown under the new hash')
  const given = async (from: string): Promise<string> => {
    const code = String(answeredData(await call('POST', '/auth/keys/code', { callback_url: 'https://app.example/' }, from)).id)
    return String((await call('POST', '/auth/keys', { code })).body.key)
  }
  t.match(await say('forbidden-1', await given(secret)), { status: 403 }, 'stored, assigned')
  t.match(await say('no way', await given(SECRETS.other)), { status: 403 }, 'of the file, by its scope')
  t.equal((await say('no way', await given(SECRETS.app))).status, 200)
  await call('DELETE', `/keys/${String(row.key_hash)}`)
  t.match((await call('GET', assignmentsPath(id))).body, { total_count: 0 }, 'a key that is gone is not listed')
})

t.test('a request under way keeps the guardrails that it began with', async (t) => {
  const gate = new Gate()
  const { call, say, upstream, gateway } = await guardrailScene(t)
  upstream.script = (seen) => {
    const [first, ...rest] = framesFor(seen.path, { text: ['one ', 'two'] })
    return sseAnswer([first, gate.step, ...rest])
  }
  const begun = await gateway.post(
    '/v1/chat/completions',
    { model: 'acme/two', stream: true, messages: [{ role: 'user', content: 'forbidden-1' }] },
    { authorization: `Bearer ${SECRETS.app}` },
  )
  t.equal(begun.status, 200)
  await call('PATCH', `/guardrails/${DEFAULT}`, BLOCK)
  t.equal((await say('forbidden-1')).status, 403)
  gate.open()
  t.match(await begun.text(), /two[\s\S]*\[DONE\]/)
})

t.test('guardrails of the store outlive a restart and a reload; both of them hold together', async (t) => {
  const directory = t.testdir()
  const { call, make, say, gateway } = await guardrailScene(t, '', { directory, store: `sqlite:${directory}/headgate.db` })
  const id = await make({ name: 'kept', ...BLOCK }, HASHES.app)
  const before = (await call('GET', '/guardrails')).body
  await gateway.restart()
  t.same((await call('GET', '/guardrails')).body, before)
  t.equal((await say('forbidden-1')).status, 403)
  t.equal((await gateway.running.reload()).kind, 'applied')
  t.equal((await say('forbidden-1')).status, 403)
  t.match((await call('GET', assignmentsPath(id))).body, { data: [{ key_name: 'app' }] })
})

t.test('a guardrail that this program cannot put in force: the last ones stay, and nothing starts without it', async (t) => {
  const directory = t.testdir()
  const { call, make, say, gateway } = await guardrailScene(t, '', { directory, store: `sqlite:${directory}/headgate.db` })
  await make({ name: 'kept', ...BLOCK }, HASHES.app)
  const { guardrails } = gateway.running.store
  const broken = { id: 'from-elsewhere', version: 1, name: 'broken', createdAt: 1, updatedAt: null }
  await guardrails.put({ ...broken, fields: { content_filters: [{ pattern: '(?=x)', action: 'block' }] } }, 0)
  t.equal((await say('forbidden-1')).status, 403)
  await call('POST', assignmentsPath('from-elsewhere'), { key_hashes: [HASHES.other] })
  t.equal((await say('forbidden-1')).status, 403, 'those of before hold')
  t.match(gateway.logs.join('\n'), /guardrails kept: those that are stored now cannot be put in force/)
  await t.rejects(gateway.restart(), /guardrail from-elsewhere\.content_filters\[0\]\.pattern/)
})

t.test('of changes that come at once each finds what the others have left', async (t) => {
  const { call, make } = await guardrailScene(t)
  const id = await make({ name: 'busy' })
  const fields = ['enforce_zdr_openai', 'enforce_zdr_google', 'enforce_zdr_xai', 'enforce_zdr_other', 'enable_paid_model_training']
  const told = await Promise.all(fields.map((field) => call('PATCH', `/guardrails/${id}`, { [field]: true })))
  t.same(
    told.map(({ status }) => status),
    fields.map(() => 200),
  )
  t.match(answeredData(await call('GET', `/guardrails/${id}`)), Object.fromEntries(fields.map((field) => [field, true])))
  const made = await Promise.all(['a', 'b', 'c'].map((name) => call('PATCH', `/guardrails/${DEFAULT}`, { name })))
  t.same(
    made.map(({ status }) => status),
    [200, 200, 200],
  )
  t.equal(list((await call('GET', '/guardrails')).body.data).length, 2)
})

t.test('the workspace and its guardrail keep their ids', (t) => {
  t.same([DEFAULT_GUARDRAIL, OWN_WORKSPACE], [DEFAULT, WORKSPACE])
  t.end()
})
