/** `headgate organizations`, `workspaces` and `members`: on the store of a stopped gateway, and on the running one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { budgets, keys } from '../../src/cli/keys.ts'
import { type LevelFlags, levels } from '../../src/cli/levels.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { LevelKind } from '../../src/core/levels.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { printed } from '../support/printed.ts'
import { serveProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.test('a team is made on a stopped gateway, and turned off on the running one', async (t) => {
  const directory = t.testdir()
  const config = join(directory, 'headgate.yaml')
  const [admin] = await freePorts(1)
  writeFileSync(
    config,
    `server: { port: 0 }
admin: { port: ${admin} }
store: { url: "sqlite:${join(directory, 'ledger.db')}" }
auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef" } ] }
${simulated('price: { prompt: "0", completion: "0", request: "0.5" }')}`,
  )
  const run = (kind: LevelKind, words: string, flags: LevelFlags = {}) =>
    printed((streams) => levels(kind, words.split(' '), { config, ...flags }, streams))
  t.match(await run('organization', 'create acme', { name: 'Acme' }), { code: 0, out: /acme +Acme/ })
  t.match(await run('workspace', 'create ml', { organization: 'acme' }), { code: 0, out: /default.*\n.*ml +ml/s })
  t.match(await run('workspace', 'limit ml', { monthly: '10', daily: '1' }), { code: 0, out: /\$1\.00 daily, \$10\.00 monthly/ })
  t.match(await run('workspace', 'limit ml', { daily: '20' }), { code: 1, error: /limit_usd: expected the daily limit to be lower/ })
  t.match(await run('workspace', 'limit ml', { daily: 'none', requests: '60' }), { code: 0, out: /60 requests/ })
  t.match(await run('workspace', 'limit ml', { daily: 'none' }), { code: 0, out: /\$10\.00 monthly +60 requests/ })
  t.match(await run('member', 'add ml ada@example.com'), { code: 0, out: /ada@example\.com/ })
  t.match(await run('member', 'limit ml ada@example.com', { weekly: '0.5' }), { code: 0, out: /\$0\.50 weekly/ })
  const made = await printed((streams) =>
    keys(['create', 'laptop'], { config, json: true, workspace: 'ml', member: 'ada@example.com' }, streams),
  )
  const { key, data } = JSON.parse(made.out) as { key: string; data: JsonObject }
  t.match(data, { limit_remaining: 0.5 })
  t.match(await run('workspace', 'delete ml'), { code: 1, error: /has 1 key in use \(laptop\)/ })
  for (const words of ['list', 'add ml', 'limit ml', 'rename ml x', 'list ml ada'])
    t.match(await run('member', words), { code: 2, error: /members: expected/ }, words)
  t.match(await run('workspace', 'limit nowhere', { daily: '1' }), { code: 1, error: /No such workspace/ })

  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  const status = async (): Promise<number> => {
    const body = JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${program.url}/v1/chat/completions`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return response.status
  }
  t.same([await status(), await status()], [200, 402])
  const shown = await printed((streams) => budgets([], { config }, streams))
  t.match(shown.out, /workspace:ml +monthly.*\n +member:ml\/ada@example\.com +weekly/)
  t.match(await run('member', 'disable ml ADA@example.com'), { code: 0, out: /disabled/ })
  t.equal(await status(), 403)
  t.match(await run('member', 'enable ml ada@example.com'), { code: 0 })
  t.equal(await status(), 402)
  const listed = JSON.parse((await run('member', 'list ml', { json: true })).out) as { data: JsonObject[] }
  t.match(listed.data, [{ user_id: 'ada@example.com', budgets: [{ limit_usd: 0.5, reset_interval: 'weekly' }] }])
})
