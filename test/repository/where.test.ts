/** `npm run where`: a change in plain words leads to its file. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { contributingRows, readSource, searchRows, searchSources } from '../../scripts/where.ts'

const ROOT = join(import.meta.dirname, '../..')

function where(...query: string[]): string[] {
  return execFileSync(process.execPath, ['scripts/where.ts', ...query], { cwd: ROOT, encoding: 'utf8' }).split('\n')
}

t.test('finds rows of the guide and files by words in any form', async (t) => {
  const lines = where('refunds', 'that', 'operators', 'make')
  t.match(lines[0], /^\| refunds and other entries that operators make \| `src\/api\/refunds\.ts`/)
  t.ok(lines.some((line) => line.startsWith('src/api/refunds.ts: ')))
  t.ok(where('circuit', 'breaker', 'ejecting', 'endpoints').some((line) => line.startsWith('src/routing/ejection.ts: ')))
  t.ok(where('robots.txt').some((line) => line.startsWith('src/services/pages/robots.ts: ')))
})

t.test('looks into names, headings, comments, declarations and texts', async (t) => {
  const sources = [
    readSource('src/a/retry-budget.ts', '/** One thing. */\nexport const a = 1'),
    readSource(
      'src/a/b.ts',
      '/** Bounds of heartbeats. */\n/** Waits for leases. */\nfunction drainCallers() {}\nthrow new Fault("no such tariff")',
    ),
    readSource('config/c.yaml', '# Prices of voices\nmodel: c'),
  ]
  const first = (query: string): unknown => searchSources(sources, query)[0]?.id
  t.equal(first('budgets of retries'), 'src/a/retry-budget.ts')
  for (const query of ['heartbeat', 'lease', 'caller drains', 'tariffs']) t.equal(first(query), 'src/a/b.ts', query)
  t.equal(first('voice'), 'config/c.yaml')
  t.equal(first('the of and'), undefined)
})

t.test('reads the rows of one table alone', async (t) => {
  const guide =
    '# A\n| x | y |\n\n## Where to begin\n\n| To change | Begin in |\n| --- | --- |\n| prices of voices | `a` |\n| leases | `b` |\n\n## All files\n| z | z |\n'
  const rows = contributingRows(guide)
  t.same(rows, ['| prices of voices | `a` |', '| leases | `b` |'])
  t.same(searchRows(rows, 'price of a voice'), ['| prices of voices | `a` |'])
})

t.test('says how it is used', async (t) => {
  t.throws(() => where(), /usage: npm run where/)
})
