import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Streams } from '../../src/cli/console.ts'
import { credits, type KeyFlags, keyReport, keys } from '../../src/cli/keys.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { every } from '../support/every.ts'
import { type Printed, printed } from '../support/printed.ts'
import { runProgram, serveProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

const SECRET = 'sk-router-v1-0123456789abcdef'

async function configFile(t: Test, store?: string): Promise<string> {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  writeFileSync(
    file,
    `server: { port: 0 }
admin: { port: ${(await freePorts(1))[0]} }
store: { url: "${store ?? `sqlite:${join(directory, 'ledger.db')}`}" }
auth: { keys: [ { name: app, key: "${SECRET}", limit: "2.00" } ] }
${simulated('price: { prompt: "0", completion: "0", request: "0.5" }')}`,
  )
  return file
}

type Verb = (words: readonly string[], flags: KeyFlags, streams: Streams) => Promise<number>

function say(verb: Verb, words: string, flags: KeyFlags): Promise<Printed> {
  return printed((streams) => verb(words === '' ? [] : words.split(' '), flags, streams))
}

const status = async (url: string, secret: string): Promise<number> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

const secretIn = ({ out }: Printed): string => /sk-router-v2-[0-9a-f]{64}/.exec(out)?.[0] ?? ''

t.test('on a stopped gateway, then on the running one, then stopped again', async (t) => {
  const config = await configFile(t)
  const created = await say(keys, 'create boss', { config, management: true })
  t.equal(created.code, 0)
  const boss = secretIn(created)
  t.match(created.out, /boss +[0-9a-f]{12} +sk-router-v2-[0-9a-f]{3}\.\.\.[0-9a-f]{4} +owner +active +none/)
  t.match(created.out, /shown this once/)

  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  const managed = await fetch(`${program.url}/v1/keys`, { headers: { authorization: `Bearer ${boss}` } })
  t.match(await managed.json(), { data: [{ name: 'app' }, { name: 'boss', is_management_key: true }] })

  const worker = secretIn(await say(keys, 'create worker', { config, limit: '1.00', reset: 'monthly', expires: '2099-01-31T00:00:00Z' }))
  t.equal(await status(program.url, worker), 200, 'it counts at once')
  for (const name of ['worker', 'app'])
    t.match(
      await say(keys, `create ${name}`, { config }),
      {
        code: 1,
        out: '',
        error: new RegExp(`another key of the name ${name} \\(([0-9a-f]{12})\\): choose another name, .*keys rotate \\1,`),
      },
      'a second key of the name, in the store or in the configuration',
    )
  const listed = await say(keys, 'list', { config })
  t.notOk(listed.out.includes(worker) || listed.out.includes(SECRET), 'no secret is shown again')
  t.match(listed.out, /app .* member +active +\$2\.00 +\$2\.00 +\$0\.00 +never +configuration/)
  t.match(listed.out, /worker .* \$1\.00 +month +\$0\.50 +\$0\.50 +2099-01-31 00:00 +store/)
  t.match(await say(keys, 'disable worker', { config }), { code: 0, out: /disabled/ })
  t.equal(await status(program.url, worker), 401)
  t.match(await say(keys, 'enable worker', { config }), { code: 0, out: /active/ })
  t.equal(await status(program.url, worker), 200)
  t.equal(await status(program.url, worker), 402)
  t.match(await say(credits, 'add worker 0.75', { config }), { code: 0, out: /\$1\.75/ })
  t.equal(await status(program.url, worker), 200)
  t.match(await say(credits, '', { config }), { code: 0, out: '$1.50 spent by all keys, $2.25 left to those with a limit' })
  const rotated = await say(keys, 'rotate worker', { config })
  const fresh = secretIn(rotated)
  t.not(fresh, worker)
  t.equal(await status(program.url, worker), 401, 'the old secret')
  t.equal(await status(program.url, fresh), 402, 'the new one, with what the key has spent')

  program.child.kill('SIGTERM')
  t.match(await program.exited, { code: 0 })
  t.notMatch(program.out() + program.err(), /sk-router-v2-[0-9a-f]{64}/, 'the gateway wrote no secret down')

  const json = JSON.parse((await say(keys, 'list', { config, json: true })).out) as { data: JsonObject[] }
  t.match(json.data, [{ name: 'app' }, { name: 'boss' }, { name: 'worker', usage: 1.5, usage_monthly: 1.5, limit_remaining: 0.25 }])
  t.match(JSON.parse((await say(credits, '', { config, json: true })).out), { data: { total_usage: 1.5, total_credits: 3.75 } })
  const begun = String(json.data[2].hash).slice(0, 8)
  t.match(await say(keys, `delete ${begun}`, { config }), { code: 0, out: /^Deleted/ })
  t.notMatch((await say(keys, 'list', { config })).out, /worker/)
})

t.test('lists those that are wanted, in the order that is wanted', async (t) => {
  const config = await configFile(t)
  for (const [name, limit] of [
    ['carol', '1.00'],
    ['bob', '3.00'],
    ['alice', '2.00'],
  ] as const)
    await say(keys, `create ${name}`, { config, limit, user: name === 'bob' ? 'b' : 'x' })
  await say(keys, 'disable carol', { config })
  const names = async (flags: KeyFlags): Promise<unknown[]> => {
    const { out } = await say(keys, 'list', { config, json: true, ...flags })
    return (JSON.parse(out) as { data: { name: string }[] }).data.map(({ name }) => name)
  }
  t.same(await names({ sort: 'name' }), ['alice', 'app', 'bob', 'carol'])
  t.same(await names({ sort: 'name', order: 'desc', most: '2' }), ['carol', 'bob'])
  t.same(await names({ search: 'ALI' }), ['alice'])
  t.same(await names({ user: 'b' }), ['bob'])
  t.same(await names({ state: 'disabled' }), ['carol'])
  t.match(await say(keys, 'list', { config, sort: 'label' }), { code: 1, error: /sort: expected one of: created_at/ })
  t.match(await say(keys, 'list', { config, most: '0' }), { code: 1, error: /--most: expected a whole number/ })
})

t.test('management keys get a role, an end and another role', async (t) => {
  const config = await configFile(t)
  const made = await say(keys, 'create auditor', { config, role: 'viewer', expires: '2099-01-31T00:00:00Z' })
  const auditor = secretIn(made)
  t.match(made.out, /auditor .* viewer +active .* 2099-01-31 00:00/)
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  const read = async (path: string): Promise<number> =>
    (await fetch(`${program.url}${path}`, { headers: { authorization: `Bearer ${auditor}` } })).status
  t.equal(await read('/v1/status'), 200)
  t.match(await say(keys, 'role auditor billing', { config }), { code: 0, out: /auditor .* billing +active/ })
  t.same([await read('/v1/status'), await read('/v1/credits')], [403, 200], 'it holds at once')
  for (const [words, flags, error] of [
    ['role auditor root', {}, / role: expected one of: member, viewer/],
    ['role auditor member', {}, /expected a new key/],
    ['create x', { role: 'root' }, / role: expected one of: member, viewer/],
    ['create x', { role: 'viewer', management: true }, /--role: --management is the role owner/],
  ] as const)
    t.match(await say(keys, words, { config, ...flags }), { code: 1, error }, words)
  t.equal((await say(keys, 'role auditor', { config })).code, 2)
})

t.test('the API gives a key the name of another, and commands then ask for a hash', async (t) => {
  const config = await configFile(t)
  const boss = secretIn(await say(keys, 'create boss', { config, management: true }))
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  const ask = async (method: string, path: string, body: JsonObject) => {
    const headers = { authorization: `Bearer ${boss}`, 'content-type': 'application/json' }
    const reply = await fetch(`${program.url}/v1/keys${path}`, { method, headers, body: JSON.stringify(body) })
    return { status: reply.status, data: ((await reply.json()) as { data: { hash: string; label: string; name: string } }).data }
  }
  const first = await ask('POST', '', { name: 'twin' })
  const second = await ask('POST', '', { name: 'other' })
  t.match(await ask('PATCH', `/${second.data.hash}`, { name: 'twin' }), { status: 200, data: { name: 'twin' } })
  t.match(await ask('POST', '', { name: 'app' }), { status: 201, data: { name: 'app' } }, 'that of a key of the file as well')
  const refused = await say(keys, 'disable twin', { config })
  t.equal(refused.code, 1)
  for (const { data } of [first, second]) t.match(refused.error, `${data.hash.slice(0, 12)} (${data.label})`)
  t.match(await say(keys, `disable ${second.data.hash.slice(0, 12)}`, { config }), { code: 0, out: /disabled/ })
  t.match(await say(keys, 'create twin', { config }), { code: 1, error: /keys rotate [0-9a-f]{12},/ })
})

t.test('what is refused says why', async (t) => {
  const config = await configFile(t)
  await say(keys, 'create twin', { config })
  await say(keys, 'create other', { config })
  // As a store has it where the API made two, or an earlier version.
  const store = new DatabaseSync(join(dirname(config), 'ledger.db'))
  store.exec("UPDATE api_key SET name = 'twin' WHERE name = 'other'")
  store.close()
  await every(t, 'every case', async (t) => {
    for (const [verb, words, flags, code, error] of [
      [keys, 'disable app', {}, 1, /^headgate: The key app stands in the configuration file: change it there$/],
      [keys, 'rotate nobody', {}, 1, /No key nobody/],
      [
        keys,
        'delete twin',
        {},
        1,
        /several keys are called so; name one by its hash: [0-9a-f]{12} \(sk-router-\S+\), [0-9a-f]{12} \(sk-router-\S+\)$/,
      ],
      [keys, 'create x', { limit: 'much' }, 1, /--limit: expected an amount of USD/],
      [keys, 'create x', { limit: '-1' }, 1, /--limit/],
      [keys, 'create x', { reset: 'hourly' }, 1, /limit_reset: expected one of: daily, weekly, monthly/],
      [keys, 'create x', { expires: 'soon' }, 1, /expires_at: /],
      [credits, 'add twin 1', {}, 1, /several/],
      [credits, 'add app 1', {}, 1, /configuration/],
      [credits, 'add x much', {}, 1, /amount: expected an amount of USD/],
      [keys, '', {}, 2, /expected list, create NAME/],
      [keys, 'list all', {}, 2, /expected list/],
      [keys, 'create', {}, 2, /expected list/],
      [keys, 'disable', {}, 2, /expected list/],
      [keys, 'dance x', {}, 2, /expected list/],
      [credits, 'take', {}, 2, /expected nothing, or add KEY AMOUNT/],
      [credits, 'add x', {}, 2, /expected nothing/],
    ] as const) {
      const utterance = await say(verb, words, { config, ...flags })
      t.match(utterance, { code, error }, words)
      t.equal(utterance.out, '')
    }
  })
  t.match(await say(keys, 'list', { config: join(t.testdir(), 'none.yaml') }), { code: 1, error: /none\.yaml/ })
  const memory = await configFile(t, 'memory:')
  t.match(await say(keys, 'list', { config: memory }), {
    code: 1,
    error: /no gateway listens at http:.* and its store is kept in memory only/,
  })
})

t.test('through the launcher', async (t) => {
  const config = await configFile(t)
  const made = runProgram([
    'keys',
    'create',
    'mine',
    '--user',
    'ann',
    '--limit',
    '3',
    '--reset',
    'daily',
    '--provider-ids',
    'file-a,vs_*',
    '--json',
    '-c',
    config,
  ])
  t.match(await made.exited, { code: 0 }, made.err())
  t.match(JSON.parse(made.out()), {
    data: { name: 'mine', creator_user_id: 'ann', limit: 3, limit_reset: 'daily', provider_ids: ['file-a', 'vs_*'] },
    key: /^sk-router-v2-[0-9a-f]{64}$/,
  })
  const credit = runProgram(['credits', '-c', config])
  t.match(await credit.exited, { code: 0 })
  t.equal(credit.out(), '$0.00 spent by all keys, $5.00 left to those with a limit\n')
})

t.test('names cannot paint on the terminal', async (t) => {
  const key = {
    name: 'a\u001b[2Jb\u202ec',
    hash: 'f'.repeat(64),
    label: 'x',
    limit: null,
    usage: 0,
    expires_at: '2020-01-01T00:00:00Z',
    source: 'store',
  }
  const report = keyReport({ verb: 'list' }, { data: [key, { ...key, name: 'two\nlines' }] }, Date.now())
  t.match(report, /a\?\[2Jb\?c/)
  t.match(report, /expired/)
  t.match(report, /^ {2}two lines +f/m, 'one row for one key')
  t.notOk(report.includes('\u001b') || report.includes('\u202e'))
  t.equal(keyReport({ verb: 'list' }, { data: [] }, 0), 'There are no keys.')
  const issued = { ...key, name: 'tool', hash: 'e'.repeat(64), parent_hash: 'd'.repeat(64) }
  const parent = { ...key, name: 'ada', hash: 'd'.repeat(64) }
  t.match(keyReport({ verb: 'list' }, { data: [parent, issued] }, 0), /tool .* issued by ada$/m)
  t.match(keyReport({ verb: 'list' }, { data: [issued] }, 0), /tool .* issued by dddddddddddd$/m)
})

t.test('columns stay even whatever a name is written in', async (t) => {
  const names = ['plain', '日本語', 'e\u0301tude', '🚀 ship', 'ｆｕｌｌ']
  const keys = names.map((name) => ({
    name,
    hash: 'f'.repeat(64),
    label: 'x',
    limit: 1.5,
    limit_reset: 'daily',
    usage: 0,
    role: 'member',
    source: 'store',
  }))
  const report = keyReport({ verb: 'list' }, { data: keys }, 0)
  // One sign of a name may take two columns of a terminal, or none.
  const columns: Record<string, number> = { plain: 5, 日本語: 6, 'e\u0301tude': 5, '🚀 ship': 7, ｆｕｌｌ: 8 }
  await every(t, 'every case', async (t) => {
    for (const [i, name] of names.entries()) {
      const line = report.split('\n')[i + 1]
      const gap = /^ +/.exec(line.slice(line.indexOf(name) + name.length))?.[0].length ?? 0
      t.equal(columns[name] + gap, 10, name)
      t.match(line, / ffffffffffff {2}x +member {2}active {2}\$1\.50 {2}day/)
    }
  })
})

t.test('with --json every command answers as the API does', async (t) => {
  const config = await configFile(t)
  const json = async (verb: Verb, words: string, flags: KeyFlags = {}): Promise<JsonObject> => {
    const utterance = await say(verb, words, { config, json: true, ...flags })
    t.equal(utterance.code, 0, words)
    return JSON.parse(utterance.out) as JsonObject
  }
  const secret = /^sk-router-v2-[0-9a-f]{64}$/
  const made = await json(keys, 'create one', { limit: '1', expires: '2099-01-31T00:00:00Z', management: true })
  t.match(made, {
    data: { name: 'one', limit: 1, expires_at: '2099-01-31T00:00:00.000Z', is_management_key: true, source: 'store' },
    key: secret,
  })
  t.match(await json(keys, 'disable one'), { data: { disabled: true } })
  t.match(await json(keys, 'enable one'), { data: { disabled: false } })
  t.match(await json(credits, 'add one 0.5'), { data: { limit: 1.5, limit_remaining: 1.5 } })
  const rotated = await json(keys, 'rotate one')
  t.match(rotated, { data: { name: 'one', limit: 1.5 }, key: secret })
  t.not(rotated.key, made.key)
  t.match(await json(keys, 'list'), { data: [{ name: 'app' }, { name: 'one' }] })
  t.match(await json(credits, ''), { data: { total_credits: 2, total_usage: 0 } }, 'a management key spends nothing')
  t.same(await json(keys, 'delete one'), { deleted: true })
  const refused = await say(keys, 'delete one', { config, json: true })
  t.match(refused, { code: 1, out: '', error: 'headgate: No key one' })
})

interface Reply {
  status: number
  text: string
}

/** With headers that `fetch` would not send. */
function post(url: string, headers: Record<string, string>, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

t.test('the route of the admin listener takes commands that carry the token', async (t) => {
  const config = await configFile(t)
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  const url = `${program.admin}/keys/command`
  const token = readFileSync(join(dirname(config), 'ledger.db.admin-token'), 'utf8').trim()
  const json = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const create = JSON.stringify({ verb: 'create', fields: { name: 'x' } })
  const cases: [headers: Record<string, string>, body: string, status: number, utterance: RegExp][] = [
    [{ 'content-type': 'application/json' }, create, 401, /admin token/],
    [{ ...json, authorization: `Bearer ${SECRET}` }, create, 401, /admin token/],
    [{ ...json, authorization: `Bearer ${token}x` }, create, 401, /admin token/],
    [{ ...json, authorization: token }, create, 401, /admin token/],
    [{ ...json, 'content-type': 'text/plain' }, create, 415, /application\/json/],
    [json, '{"verb":"dance"}', 400, /verb: expected one of: list/],
    [json, '{"verb":"list","all":true}', 400, /all: unknown field/],
    [json, '{}', 400, /verb: is required/],
    [json, '{"verb":"rotate"}', 400, /key: is required/],
    [json, '{"verb":"add","key":"app"}', 400, /amount: is required/],
    [json, '{"verb":"create"}', 400, /name: is required/],
    [json, '{"verb":"delete","key":"nobody"}', 404, /No key nobody/],
    [json, '{"verb":"delete","key":"app"}', 409, /configuration/],
    [json, 'x', 400, /body/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [headers, body, status, utterance] of cases)
      t.match(await post(url, headers, body), { status, text: utterance }, JSON.stringify([headers, body]))
  })
  t.match(
    await post(url, json, '{"verb":"list"}'),
    { status: 200, text: /^\{"data":\[\{"hash":"[0-9a-f]{64}","name":"app".*\}\],"total_count":1,"next":null\}$/ },
    'nothing was made',
  )
  t.equal((await fetch(url, { headers: json })).status, 405)
  t.equal((await fetch(url)).status, 401, 'a caller without the token does not learn which paths there are')
})
