/** Pages that are made from sources: what they read, and that they refuse a source that has changed its form. */
import t from 'tap'
import { checkVariables } from '../../scripts/environment-table.ts'
import { limitsTables, readConstant } from '../../scripts/limits-table.ts'
import { sizingTables } from '../../scripts/sizing-table.ts'

t.test('limits are the constants of the sources', async (t) => {
  t.equal(readConstant('src/core/parameters.ts', 'MAX_COUNT'), 2 ** 31 - 1, 'powers and differences')
  t.equal(readConstant('src/services/pages/settings.ts', 'MAX_BYTES'), 10 * 1024 * 1024, 'products')
  t.match(limitsTables().request, /^\| body +\| 32MB \(`server\.max_body`\)/m)
  t.throws(() => readConstant('src/dialects/canon/bounds.ts', 'MISSING'), /has no constant MISSING/)
  t.throws(() => readConstant('src/machines/linear-regex/pattern.ts', 'PLAIN_ESCAPES'), /is no plain number/)
})

t.test('every variable that the sources name is described', async (t) => {
  t.doesNotThrow(checkVariables)
})

t.test('sizes are those of the newest run of the goals', async (t) => {
  const { memory, processor } = sizingTables()
  t.match(memory, /^\| Memory, idle +\| [\d.]+ MB +\|$/m)
  t.match(processor, /^\| one JSON reply +\| [\d,]+ µs +\| [\d,]+ +\|$/m)
})
