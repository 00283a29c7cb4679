/** Metrics: each is declared once, counted in the file that declares it, bounded, and a row of the documents' table. */
import t from 'tap'
import { allMetrics, declaringFiles } from '../../scripts/metrics-table.ts'
import { programFiles, read } from './source-tree.ts'

const DECLARATION = /^(?:export )?const (\w+) = (?:counter|gauge|histogram|reading)\(\s*(?:'(?:counter|gauge)',\s*)?'(\w+)'/gm

interface Declared {
  file: string
  constant: string
  name: string
}

const declared: Declared[] = declaringFiles().flatMap((file) =>
  [...read(file).matchAll(DECLARATION)].map(([, constant, name]) => ({ file, constant, name })),
)

/** True where a source counts in a metric, or gives it a number to read. */
function writes(source: string, constant: string): boolean {
  return new RegExp(`\\bof\\([^()]*\\b${constant}\\b[^()]*\\)[\\s\\S]*\\.(?:add|from|series|named)\\(`).test(source)
}

t.test('every metric is counted in the file that declares it', async (t) => {
  t.ok(declared.length > 15)
  for (const { file, constant, name } of declared) t.ok(writes(read(file), constant), `${file} counts ${name}`)
  t.notOk(writes('const lost = counter("lost_total")\nfoo(lost)', 'lost'), 'a metric without a writer is found')
})

t.test('every metric is found by the generator, and named in no other file', async (t) => {
  const all = await allMetrics()
  t.same(
    all.map(({ name }) => name),
    declared.map(({ name }) => `headgate_${name}`).sort(),
  )
  const sources = programFiles()
  for (const { file, name } of declared) {
    const others = sources.filter(({ path, text }) => path !== file && new RegExp(`headgate_${name}\\b`).test(text))
    t.same(
      others.map(({ path }) => path),
      [],
      `${name} is declared in ${file}`,
    )
  }
})

t.test('every metric is a row of the table, with its labels', async (t) => {
  const table = read('docs/operations.md')
  for (const { name, labels } of await allMetrics())
    t.match(table, new RegExp(`^\\| \`${name}\` +\\| \\w+ +\\| ${labels.map((label) => label.name).join(', ')} *\\|`, 'm'))
})

t.test('the bounds of all metrics keep a scrape under 10,000 series', async (t) => {
  // A histogram has its buckets, the last one without a bound, a sum and a count.
  const series = (await allMetrics()).map(({ limit, type, bounds }) => limit * (type === 'histogram' ? bounds.length + 3 : 1))
  const sum = series.reduce((all, each) => all + each, 0)
  t.ok(sum < 10_000, `${sum} series`)
})
