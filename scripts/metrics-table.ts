/** The table of metrics in docs/operations.md, made from the declarations in the sources. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { declaredMetrics, type Metric } from '../src/machines/metrics/metrics.ts'
import { markdownTable } from './markdown-table.ts'

const ROOT = join(import.meta.dirname, '..')
const DECLARES = /^import \{[^}]*\b(?:counter|gauge|histogram|reading)\b[^}]*\} from '[^']*\/machines\/metrics\/metrics\.ts'/m

/** Every source file that declares a metric, from the root. */
export function declaringFiles(): string[] {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  return files.filter((path) => DECLARES.test(readFileSync(join(ROOT, path), 'utf8'))).sort()
}

/** Every metric of the program, by name. */
export async function allMetrics(): Promise<Metric[]> {
  for (const file of declaringFiles()) await import(join(ROOT, file))
  return [...declaredMetrics()].sort((one, other) => (one.name < other.name ? -1 : 1))
}

export async function metricsMarkdown(): Promise<string> {
  const rows = (await allMetrics()).map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => label.name).join(', '),
    help,
  ])
  return markdownTable(['Metric', 'Type', 'Labels', 'Meaning'], rows)
}
