/** Dashboards and alerts: every metric and label that they name is declared, and every metric is shown by one of them. */
import { copyFileSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { allMetrics } from '../../scripts/metrics-table.ts'
import { DASHBOARDS, dashboards, FOLDER, queries, read, rules } from '../support/dashboards.ts'
import { every } from '../support/every.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CHART_FILES = join(ROOT, 'deploy/helm/headgate/files')

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
