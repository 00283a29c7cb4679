/** `headgate chargeback`: the same statement from a file, from the running gateway, as a table, JSON and CSV. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chargeback } from '../../src/cli/chargeback.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { printed } from '../support/printed.ts'
import { runProgram, serveProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

const SECRET = 'sk-router-v1-0123456789abcdef'

t.test('prints who is to pay what', async (t) => {
  const folder = t.testdir()
  const config = join(folder, 'headgate.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
admin: { port: ${(await freePorts(1))[0]} }
store: { url: "sqlite:${join(folder, 'ledger.db')}" }
auth: { keys: [ { name: app, key: "${SECRET}" } ] }
${simulated('price: { prompt: "0", completion: "0", request: "0.123456789" }')}`,
  )
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  for (let at = 0; at < 3; at++) {
    const response = await fetch(`${program.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await response.text()
  }
  const say = (flags: Parameters<typeof chargeback>[0]) => printed((streams) => chargeback({ config, ...flags }, streams))
  const running = await say({ by: 'key,model' })
  t.match(running.out, /usage +app +sim\/echo +\$0\.370370367 +3/)
  t.match(running.out, /\$0\.370370367 from \d{4}-\d\d-01 to .* for 3 requests/)
  t.match(JSON.parse((await say({ json: true })).out), { total: { amount: '0.370370367', amount_nano: '370370367' } })
  t.match(await say({ by: 'team' }), { code: 1, error: /group_by: expected some of: day, parent/ })
  t.match(await say({ json: true, csv: true }), { code: 2 })
  const focus = async (...words: string[]): Promise<string> => {
    const run = runProgram(['ledger', 'export', '--format', ...words, '--config', config])
    await run.exited
    return run.out() + run.err()
  }
  const rows = await focus('focus')
  t.match(rows, /^BilledCost,BillingAccountId,.*\r\n0\.123456789,/s)
  t.match(await focus('xml'), /--format: expected focus/)
  t.match(await focus('focus', '--to', './x'), /--to: expected none with --format focus/)
  program.child.kill('SIGTERM')
  await new Promise((resolve) => program.child.once('exit', resolve))
  t.equal(await focus('focus'), rows, 'the same from the file')
  const csv = await say({ by: 'key', csv: true })
  t.match(csv.out, /^kind,date,parent.*\r\nusage,,,,,,[0-9a-f]{64},app,.*,0\.370370367,370370367,3,0,/, 'from the file')
})
