/** Dashboards and alerts, as promtool reads them. What needs no program is in `test/documents/dashboards.test.ts`. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { FOLDER, queries } from '../support/dashboards.ts'
import { missing, tool } from './tools.ts'

const promtool = tool('promtool')

t.test('promtool accepts the alerts, and their tests pass', { skip: promtool === undefined && missing('promtool') }, async (t) => {
  const run = (...args: string[]) => spawnSync(String(promtool), args, { cwd: FOLDER, encoding: 'utf8' })
  const checked = run('check', 'rules', 'alerts.yaml')
  t.equal(checked.status, 0, checked.stdout + checked.stderr)
  const tested = run('test', 'rules', 'alerts.test.yaml')
  t.equal(tested.status, 0, tested.stdout + tested.stderr)
})

t.test('promtool accepts the queries of the dashboards', { skip: promtool === undefined && missing('promtool') }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-queries-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const filled = queries.map(({ expr }, index) => ({
    record: `query:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
  }))
  const check = (list: object[]) => {
    writeFileSync(join(folder, 'queries.yaml'), stringify({ groups: [{ name: 'queries', rules: list }] }))
    return spawnSync(String(promtool), ['check', 'rules', join(folder, 'queries.yaml')], { encoding: 'utf8' })
  }
  const { status, stdout, stderr } = check(filled)
  t.equal(status, 0, stdout + stderr)
  t.equal(check([{ record: 'query:0', expr: 'sum(rate(headgate_requests_total[5m])' }]).status, 1, 'a mistake is found')
})
