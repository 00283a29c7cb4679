/** Dashboards and alerts: every metric and label that they name is declared, and promtool accepts and tests them (issues 20 and 22). */
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { allMetrics } from '../../scripts/metrics-table.ts'
import { every } from '../support/every.ts'
import { missing, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'deploy/observability')
const CHART_FILES = join(ROOT, 'deploy/helm/headgate/files')
const DASHBOARDS = globSync('*.json', { cwd: FOLDER }).sort()
const promtool = tool('promtool')

interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
  readonly panels: readonly { readonly id: number; readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
}

const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const dashboards = DASHBOARDS.map((name) => ({ name, ...(JSON.parse(read(name)) as Dashboard) }))
const { groups } = parse(read('alerts.yaml')) as { groups: readonly { readonly rules: readonly Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const queries = [
  ...rules.map(({ alert, expr }) => ({ at: alert, expr })),
  ...dashboards.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ at: `${name}: ${title}`, expr }))),
  ),
]

t.test('every metric and label of a query is declared', async (t) => {
  const labels = new Map<string, string[]>()
  for (const { name, type, labels: own } of await allMetrics()) {
    const all = [...own.map((label) => label.name), 'job', 'instance']
    if (type === 'histogram') for (const end of ['bucket', 'sum', 'count']) labels.set(`${name}_${end}`, [...all, 'le'])
    else labels.set(name, all)
  }
  t.ok(queries.length > 40, `${queries.length} queries`)
  await every(t, 'every query', (t) => {
    for (const { at, expr } of queries) {
      const names = expr.match(/\bheadgate_\w+/g) ?? []
      t.ok(names.length > 0 || expr.startsWith('up{'), at)
      for (const name of names) t.ok(labels.has(name), `${at}: ${name}`)
      const known = new Set(names.flatMap((name) => labels.get(name) ?? []).concat('job'))
      const used = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g), ...expr.matchAll(/(?<=\bby \([^)]*)(\w+)/g)]
      for (const [, label = ''] of used) t.ok(known.has(label), `${at}: ${label}`)
    }
  })
})

t.test('every metric is shown by a dashboard or watched by an alert', async (t) => {
  const shown = queries.map(({ expr }) => expr).join('\n')
  const rest = (await allMetrics()).filter(({ name }) => !new RegExp(`\\b${name}(?:_bucket)?\\b`).test(shown))
  t.same(
    rest.map(({ name }) => name),
    ['headgate_process_start_time_seconds'],
    'which is the list of jobs',
  )
})

t.test('the variables of a dashboard are its own, and its panels have numbers of their own', async (t) => {
  t.equal(new Set(dashboards.map(({ uid }) => uid)).size, 3)
  await every(t, 'every dashboard', (t) => {
    for (const { name, templating, panels } of dashboards) {
      const known = [...templating.list.map((variable) => variable.name), '__rate_interval']
      for (const [, variable = ''] of read(name).matchAll(/"expr": ".*?\$(\w+)/g)) t.ok(known.includes(variable), `${name}: ${variable}`)
      t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, name)
    }
  })
})

t.test('the chart has the same files', async (t) => {
  const names = ['alerts.yaml', ...DASHBOARDS]
  if (process.env.HEADGATE_WRITE === '1') for (const name of names) copyFileSync(join(FOLDER, name), join(CHART_FILES, name))
  t.same(globSync('*', { cwd: CHART_FILES }).sort(), names.sort())
  await every(t, 'each', (t) => {
    for (const name of names) t.equal(readFileSync(join(CHART_FILES, name), 'utf8'), read(name), name)
  })
})

t.test('every alert has a test in which it fires, one in which it does not, and a place in the documents', async (t) => {
  const { tests } = parse(read('alerts.test.yaml')) as {
    tests: readonly { readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[] }[]
  }
  const cases = tests.flatMap((one) => one.alert_rule_test)
  const page = readFileSync(join(ROOT, 'docs/observability.md'), 'utf8')
  await every(t, 'every alert', (t) => {
    for (const { alert, labels } of rules) {
      const own = cases.filter(({ alertname }) => alertname === alert)
      t.same(own.map(({ exp_alerts }) => exp_alerts.length).sort(), [0, 1], alert)
      t.match(page, new RegExp(`\\| \`${alert}\` \\| ${labels.severity} \\|`), alert)
    }
  })
})

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
