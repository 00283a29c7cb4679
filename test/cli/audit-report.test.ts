/** `headgate audit report` and GET /v1/audit/report: what the store has, what it does not, and nothing that it does not know. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { type AuditFlags, audit } from '../../src/cli/audit.ts'
import { keys } from '../../src/cli/keys.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { object } from '../support/fold.ts'
import { type Printed, printed } from '../support/printed.ts'
import { serveProgram } from '../support/program.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const APP = 'sk-router-v1-0123456789abcdef'

async function scene(t: Test, { audit: settings = '', retention = '' } = {}) {
  const home = t.testdir()
  const config = join(home, 'headgate.yaml')
  const file = join(home, 'ledger.db')
  const [port, admin] = await freePorts(2)
  writeFileSync(
    config,
    `server: { port: ${port} }
admin: { port: ${admin} }
store: { url: "sqlite:${file}"${retention} }
audit: { ${settings} }
guardrails: [ { name: no-secrets, content_filter_builtins: [ { slug: api-key, action: block } ] } ]
auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }`,
  )
  const run = (words: string, flags: AuditFlags = {}): Promise<Printed> =>
    printed((streams) => audit(words.split(' '), { config, ...flags }, streams))
  return { config, file, run, url: `http://127.0.0.1:${port}` }
}

const question = { model: 'sim/echo', messages: [{ role: 'user', content: 'confidential question' }] }
const call = (url: string, key: string, body?: unknown): Promise<Response> =>
  fetch(url, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })

t.test('a report counts requests, entries and settings, over the API and by the command, with and without a gateway', async (t) => {
  const { config, run, url } = await scene(t, {
    audit: `key: "${'k'.repeat(32)}", sinks: [ { name: siem, syslog: { protocol: udp, host: 127.0.0.1, port: 9 } } ], retention: 40d`,
  })
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  for (let at = 0; at < 3; at++) t.equal((await call(`${url}/v1/chat/completions`, APP, question)).status, 200)
  const made = await call(`${url}/v1/keys`, BOSS, { name: 'reports' })
  t.equal(made.status, 201)
  t.equal((await call(`${url}/v1/guardrails`, BOSS, { name: 'no | phrases', phrases: ['confidential phrase'] })).status, 201)
  const reply = await call(`${url}/v1/audit/report`, BOSS)
  t.equal(reply.status, 200)
  const { data } = (await reply.json()) as { data: JsonObject }
  t.match(data, {
    audit_log: {
      verdict: 'whole',
      first_bad: null,
      keyed_from: 1,
      removed_by_retention: 0,
      in_period: 3,
      in_period_by_action: { 'configuration.loaded': 1, 'guardrail.created': 1, 'key.created': 1 },
    },
    generations: {
      requests: 3,
      failed: 0,
      days_with_requests: 1,
      days_without_requests: 183,
      models: [{ model: 'sim/echo', provider: 'local', requests: 3 }],
    },
    retention: {
      generations: { days: null, covers_six_months: true },
      audit_log: { days: 40, hold: false, covers_six_months: false },
      audit_sinks: ['siem'],
      exports: [],
    },
    guardrails: { configuration: ['no-secrets'], store: ['no | phrases'] },
    outputs_marked: 0,
  })
  t.equal((await call(`${url}/v1/audit/report`, APP)).status, 403, 'no other key reads it')
  for (const query of ['from=2026-13-01', 'from=2030-01-02&to=2030-01-01', 'from=2020-01-01&to=2026-01-01'])
    t.equal((await call(`${url}/v1/audit/report?${query}`, BOSS)).status, 400, query)
  const printedReport = await run('report')
  t.equal(printedReport.code, 0)
  const { out } = printedReport
  for (const heading of ['Article 12: Record-keeping', 'Article 19: ', 'Article 26: ', 'Article 50: ']) t.match(out, `## ${heading}`)
  t.match(out, 'Requests of models in the period: 3, of which 0 failed')
  t.match(out, '| audit log | 40 days | no | **no** |')
  t.match(out, '| sim/echo | local | 3 | 0 |')
  t.match(out, 'no \\| phrases', 'a name breaks no table')
  t.match(out, 'Outputs that the gateway marked: 0 of 3 requests')
  t.match(out, /Not recorded by the gateway:\n\n- Prompts and answers/)
  t.match(out, 'keyed from entry 1 on')
  t.notMatch(out, new RegExp(`confidential|${APP}|${BOSS}|kkkk`))
  program.child.kill('SIGTERM')
  await new Promise((resolve) => program.child.once('exit', resolve))
  const later = object(JSON.parse((await run('report', { json: true })).out))
  t.same(object(later.generations).requests, 3, 'from the store of a gateway that does not run')
})

t.test('a broken chain and an empty store are stated as such', async (t) => {
  const { config, file, run } = await scene(t)
  for (const name of ['first', 'second']) await printed((streams) => keys(['create', name], { config }, streams))
  t.match((await run('report')).out, 'Requests of models in the period: 0')
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM audit_entry WHERE sequence = 1')
  db.close()
  const { out, code } = await run('report')
  t.equal(code, 0)
  t.match(out, '**The chain is broken** at entry 2')
  t.match(await run('verify'), { code: 1 })
  t.match(await run('report', { from: 'yesterday' }), { code: 1, error: /from/ })
})

t.test('a gateway without the key of its log does not start', async (t) => {
  const setting = `key: "${'k'.repeat(32)}"`
  const { config, run } = await scene(t, { audit: setting })
  t.equal((await printed((streams) => keys(['create', 'first'], { config }, streams))).code, 0)
  t.match(await run('verify'), { code: 0, out: /keyed from entry 1 on/ })
  writeFileSync(config, readFileSync(config, 'utf8').replace(setting, ''))
  await t.rejects(serveProgram(['--config', config]), /audit\.key: expected a key/)
  t.match(await run('verify'), { code: 1, error: /not known here/ })
})
