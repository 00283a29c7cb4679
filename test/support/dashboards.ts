/** Queries of the dashboards and alerts that are delivered. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const FOLDER = join(import.meta.dirname, '../../deploy/observability')
export const DASHBOARDS = globSync('*.json', { cwd: FOLDER }).sort()

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

export const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
export const dashboards = DASHBOARDS.map((name) => ({ name, ...(JSON.parse(read(name)) as Dashboard) }))
const { groups } = parse(read('alerts.yaml')) as { groups: readonly { readonly rules: readonly Rule[] }[] }
export const rules = groups.flatMap((group) => group.rules)
export const queries = [
  ...rules.map(({ alert, expr }) => ({ at: alert, expr })),
  ...dashboards.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ at: `${name}: ${title}`, expr }))),
  ),
]
