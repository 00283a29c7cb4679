/** Audit of guardrails' findings: hashes and kinds, and the text only where a guardrail says so. */
import { createHash, createHmac } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type GuardrailFlags, guardrails, parseMoment } from '../../../src/cli/guardrails.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN, adminFetch } from '../../support/admin.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { list, object } from '../../support/fold.ts'
import { bodyRows, type GuardrailScene, guardrailScene, HASHES, SECRETS } from '../../support/guardrail-scene.ts'

const RULES = `  - name: watch
    content_filter_builtins: [ { slug: email, action: flag } ]
    content_filters: [ { pattern: "project-[0-9]+", action: redact, label: "[PROJECT]" } ]
  - { name: stop, content_filters: [ { pattern: "forbidden-[0-9]+", action: block, label: FORBIDDEN } ] }
`

/** Findings, once there are so many. */
async function found(scene: GuardrailScene, count: number, query: JsonObject = {}): Promise<JsonObject[]> {
  return eventually(`${count} findings`, async () => {
    const rows = bodyRows(await scene.command({ verb: 'audit', ...query }))
    return rows.length >= count ? rows : undefined
  })
}

t.test('every finding is a row, and no row tells what was found', async (t) => {
  const directory = t.testdir()
  const scene = await guardrailScene(t, RULES, { directory, store: `sqlite:${directory}/headgate.db` })
  const id = await scene.make({ name: 'stored one', phrases: ['for us only'], action: 'flag' }, HASHES.other)
  // The scene runs on the system's clock: rows are written 250 ms of it after the reply.
  const before = Date.now()
  const first = await scene.say('anna@example.com works on project-1 and project-2, as bob@example.com does')
  const second = await scene.say('anna@example.com')
  const blocked = await scene.say('forbidden-77')
  await scene.say('This is for us only', SECRETS.other)
  t.equal(blocked.status, 403)
  const rows = await found(scene, 5)
  t.equal(rows.length, 5)
  const secret = await scene.gateway.running.store.guardrails.secret()
  const hash = (text: string): string => createHmac('sha256', secret).update(text).digest('hex')
  const by = (generation: unknown): JsonObject[] => rows.filter((row) => row.generation === generation)
  const common = { key: 'app', key_name: 'app', direction: 'input', stage: 'content-filter', engines: ['regex'] }
  const [flagged, redacted] = by(first.body.id).sort((a, b) => (String(a.action) < String(b.action) ? -1 : 1))
  const { at, ...rest } = flagged
  t.ok(Date.parse(String(at)) >= before && Date.parse(String(at)) <= Date.now())
  t.same(rest, {
    ...common,
    generation: first.body.id,
    guardrail_id: 'watch',
    guardrail: 'watch',
    action: 'flagged',
    entities: ['EMAIL'],
    count: 2,
    hashes: [hash('anna@example.com'), hash('bob@example.com')],
  })
  t.match(redacted, { action: 'redacted', entities: ['[PROJECT]'], count: 2, hashes: [hash('project-1'), hash('project-2')] })
  t.match(by(second.body.id), [{ action: 'flagged', count: 1, hashes: [hash('anna@example.com')] }], 'the same text has the same hash')
  t.match(
    rows,
    [{}, { ...common, guardrail_id: 'stop', action: 'blocked', hashes: [hash('forbidden-77')] }, {}, {}, {}],
    'the newest first',
  )
  t.match(rows[0], { key: 'other', guardrail_id: id, guardrail: 'stored one', entities: ['PHRASE'], hashes: [hash('for us only')] })
  const kept = readdirSync(directory)
    .filter((name) => name.startsWith('headgate.db'))
    .map((name) => readFileSync(join(directory, name), 'latin1'))
    .join('')
  for (const text of ['anna@example.com', 'project-1', 'forbidden-77']) {
    t.notMatch(JSON.stringify(rows), text)
    t.notOk(kept.includes(text), `${text}: not in the file`)
    t.notOk(kept.includes(createHash('sha256').update(text).digest('hex')), 'no hash that anybody could try out')
    t.notOk(scene.gateway.logs.join('\n').includes(text), 'not in the log')
  }
  t.ok(kept.includes(hash('forbidden-77')))
  await scene.gateway.restart()
  t.same(await found(scene, 5), rows, 'they are there after a restart')
  t.equal(await scene.gateway.running.store.guardrails.secret(), secret)
})

t.test('audit: full keeps the texts, of that guardrail alone', async (t) => {
  const scene = await guardrailScene(
    t,
    `${RULES}  - { name: whole, audit: full, content_filter_builtins: [ { slug: email, action: redact } ] }`,
  )
  await scene.make({ name: 'stored whole', audit: 'full', phrases: ['for us only'] }, HASHES.app)
  await scene.say('anna@example.com')
  await scene.say('for us only')
  const rows = await found(scene, 3)
  t.match(
    rows.find((row) => row.guardrail === 'whole'),
    { texts: ['anna@example.com'], count: 1 },
  )
  t.match(
    rows.find((row) => row.guardrail === 'stored whole'),
    { texts: ['for us only'], action: 'blocked' },
  )
  t.notOk('texts' in object(rows.find((row) => row.guardrail === 'watch')))
  t.notMatch(scene.gateway.logs.join('\n'), /anna@|for us only/)
})

t.test('an engine that does not answer is written down, whether or not the request goes on', async (t) => {
  const engine = (open: string): string => `engine: { type: webhook, url: "http://127.0.0.1:9/x", timeout: 1s, on_error: ${open} }`
  const scene = await guardrailScene(
    t,
    `  - { name: lax, scope: { keys: [ app ] }, ${engine('open')} }\n  - { name: strict, scope: { keys: [ other ] }, ${engine('closed')} }`,
  )
  t.equal((await scene.say('Hello')).status, 200)
  t.equal((await scene.say('Hello', SECRETS.other)).status, 503)
  t.match(await found(scene, 2), [
    { guardrail: 'strict', action: 'unchecked', key: 'other' },
    { guardrail: 'lax', action: 'unchecked', engines: ['webhook'], entities: [], count: 0, hashes: [] },
  ])
  const metrics = await (await fetch(`${scene.gateway.admin}/metrics`)).text()
  t.match(metrics, 'headgate_guardrail_hits_total{guardrail="lax",action="unchecked",direction="input"} 1')
  t.match(metrics, 'headgate_guardrail_audit_dropped_total 0')
})

t.test('records findings in answers with the direction output', async (t) => {
  const scene = await guardrailScene(
    t,
    '  - { name: answers, direction: output, content_filters: [ { pattern: "fi(ne)", action: flag } ] }',
  )
  const id = await scene.make({ name: 'both ways', direction: 'both', phrases: ['fine', 'forbidden'], action: 'flag' }, HASHES.app)
  const { status, body } = await scene.say('Is it forbidden?')
  t.equal(status, 200)
  const rows = await found(scene, 3)
  const secret = await scene.gateway.running.store.guardrails.secret()
  const hash = (text: string): string => createHmac('sha256', secret).update(text).digest('hex')
  const told = rows.map(({ guardrail, direction, hashes, generation }) => [guardrail, direction, String(hashes), generation])
  t.same(
    told.sort((a, b) => (`${a}` < `${b}` ? -1 : 1)),
    [
      ['answers', 'output', hash('fine'), body.id],
      ['both ways', 'input', hash('forbidden'), body.id],
      ['both ways', 'output', hash('fine'), body.id],
    ],
  )
  const metrics = await (await fetch(`${scene.gateway.admin}/metrics`)).text()
  t.match(metrics, `headgate_guardrail_hits_total{guardrail="${id}",action="flagged",direction="output"} 1`)
  t.match(metrics, `headgate_guardrail_hits_total{guardrail="${id}",action="flagged",direction="input"} 1`)
})

t.test('findings by key, guardrail and time; bad questions and strangers', async (t) => {
  const scene = await guardrailScene(t, RULES)
  const made = object((await scene.call('POST', '/keys', { name: 'stored' })).body)
  await scene.say('anna@example.com')
  await scene.say('bob@example.com', String(made.key))
  await scene.say('forbidden-1')
  await found(scene, 3)
  const hash = String(object(made.data).hash)
  const count = async (query: JsonObject): Promise<number> => bodyRows(await scene.command({ verb: 'audit', ...query })).length
  t.same(
    [await count({ key: 'app' }), await count({ key: 'stored' }), await count({ key: hash }), await count({ key: 'nobody' })],
    [2, 1, 1, 0],
  )
  t.same([await count({ guardrail: 'watch' }), await count({ guardrail: 'stop', key: 'stored' })], [2, 0])
  t.same([await count({ since: Date.now() + 1000 }), await count({ since: 0 })], [0, 3])
  for (const [body, field] of [
    [{}, 'verb'],
    [{ verb: 'delete' }, 'verb'],
    [{ verb: 'show' }, 'guardrail'],
    [{ verb: 'audit', since: -1 }, 'since'],
    [{ verb: 'audit', limit: 1 }, 'limit'],
  ] as const)
    t.match(await scene.command(body), { error: { code: 400, metadata: { field } } })
  t.match(await scene.command({ verb: 'show', guardrail: 'nothing' }), { error: { code: 404 } })
  const ask = (headers: Record<string, string>) =>
    adminFetch(`${scene.gateway.admin}/guardrails/command`, { method: 'POST', headers, body: '{"verb":"list"}' })
  t.equal((await fetch(`${scene.gateway.admin}/guardrails/command`, { method: 'POST', body: '{"verb":"list"}' })).status, 401, 'no token')
  t.equal((await ask({ 'content-type': 'text/plain' })).status, 415)
  t.equal((await adminFetch(`${scene.gateway.url}/guardrails/command`, { method: 'POST' })).status, 404, 'not on the public port')
})

async function say(t: Test, words: string, flags: GuardrailFlags): Promise<{ code: number; out: string[]; error: string }> {
  const out: string[] = []
  const error: string[] = []
  const code = await guardrails(words === '' ? [] : words.split(' '), flags, {
    out: (line) => out.push(line),
    error: (line) => error.push(line),
  })
  t.notMatch(`${out} ${error}`, /anna@/)
  return { code, out, error: error.join('\n') }
}

t.test('the command line shows guardrails and findings, of a running gateway and of its file', async (t) => {
  const directory = t.testdir()
  const scene = await guardrailScene(t, RULES, { directory, store: `sqlite:${directory}/headgate.db` })
  const id = await scene.make({ name: 'monthly', limit_usd: 5, reset_interval: 'monthly', allowed_models: ['acme/*'] }, HASHES.app)
  await scene.make({ name: 'idle' })
  await scene.say('anna@example.com')
  await scene.say('forbidden-1', SECRETS.other)
  await found(scene, 2)
  // The program took free ports; the command line looks where the file says.
  const [admin] = await freePorts(1)
  const file = join(directory, 'headgate.yaml')
  const text = readFileSync(file, 'utf8')
  const at = (port: number): void =>
    writeFileSync(file, text.replace(/^admin:.*$/m, `admin: { host: 127.0.0.1, port: ${port}, token: ${ADMIN_TOKEN} }`))
  const look = async (t: Test): Promise<void> => {
    const config = file
    const all = await say(t, 'list', { config })
    t.equal(all.code, 0)
    t.match(all.out[0], /watch\s+configuration\s+every request\s+input\s+flag email, 1 pattern$/m)
    t.match(all.out[0], new RegExp(`monthly\\s+${id}\\s+store\\s+app\\s+input\\s+\\$5 monthly, allowed models`))
    t.match(all.out[0], /idle\s+\S+\s+store\s+no key\s+input\s+nothing/)
    t.match((await say(t, `show ${id}`, { config })).out[0], /limit_usd\s+5\n[\s\S]*holds for\s+app/)
    const shown = await say(t, 'show monthly', { config, json: true })
    t.match(JSON.parse(shown.out[0]), { data: { id, keys: [{ key_name: 'app' }] } })
    t.match((await say(t, 'show nothing', { config })).error, /No guardrail nothing/)
    const audit = await say(t, 'audit', { config })
    t.match(audit.out[0], /watch\s+input\s+flagged\s+EMAIL\s+1\s+app\s+gen-\S+\s+[0-9a-f]{12}/)
    t.match(audit.out[0], /stop\s+input\s+blocked\s+FORBIDDEN\s+1\s+other/)
    const rows = (await say(t, 'audit', { config, json: true, key: 'other', since: '1h' })).out.map(
      (line) => JSON.parse(line) as JsonObject,
    )
    t.match(rows, [{ guardrail: 'stop', key: 'other' }])
    t.equal(rows.length, 1)
    t.same((await say(t, 'audit', { config, guardrail: 'monthly' })).out, ['Nothing was found.'])
    t.match(await say(t, 'audit', { config, since: 'yesterday' }), { code: 1, error: /--since: expected a time/ })
    for (const words of ['', 'show', 'list x', 'remove x', 'audit x']) t.equal((await say(t, words, { config })).code, 2, words)
  }
  at(Number(new URL(scene.gateway.admin).port))
  await t.test('running', look)
  await scene.gateway.close()
  at(admin)
  await t.test('not running', look)
})

t.test('times of the command line', async (t) => {
  const now = Date.UTC(2026, 10, 30)
  t.equal(parseMoment('24h', now), now - 86_400_000)
  t.equal(parseMoment('7d', now), now - 7 * 86_400_000)
  t.equal(parseMoment('5m', now), now - 300_000)
  t.equal(parseMoment('2026-11-29T00:00:00Z', now), now - 86_400_000)
  t.equal(parseMoment('2026-11-29', now), now - 86_400_000)
  for (const text of ['', '7', '7w', 'yesterday', '2026-13-01', '29.11.2026'])
    t.throws(() => parseMoment(text, now), { message: /^--since/ }, text)
})

t.test('shows an audit trail of several pages whole', async (t) => {
  const scene = await guardrailScene(t, RULES)
  const detail = { entities: [], engines: [], count: 0, hashes: [] }
  const row = {
    generation: 'gen-1',
    key: 'app',
    guardrail: 'watch',
    name: 'watch',
    direction: 'input',
    stage: 'x',
    action: 'flagged',
    detail,
  }
  await scene.gateway.running.store.guardrails.note(Array.from({ length: 1201 }, (_, i) => ({ ...row, at: 1000 + (i >> 1), id: `r${i}` })))
  let pages = 0
  let rows = 0
  let after: JsonObject | undefined
  do {
    const reply = await scene.command({ verb: 'audit', ...(after ? { after } : {}) })
    rows += list(reply.data).length
    after = reply.next === null ? undefined : object(reply.next)
    pages++
  } while (after)
  t.same([pages, rows], [3, 1201])
})
