import t from 'tap'
import { every } from '../support/every.ts'
import { findCircles, importGraph } from './import-circles.ts'
import { ALLOWED, importViolations, listImports, objection, pathLayer } from './import-rules.ts'
import { filesWithoutCircles, programFiles } from './source-tree.ts'

t.test('imports point down in every file of src and plugins', async (t) => {
  const files = programFiles()
  t.ok(files.length > 20, 'the program was found')
  const broken = files.flatMap((file) => importViolations(file.path, file.text))
  t.same(broken, [], 'no rule is broken')
})

t.test('no files import each other in a circle', async (t) => {
  const files = filesWithoutCircles()
  t.ok(
    files.some(({ path }) => path === 'web/routes.ts'),
    'the control room was found',
  )
  t.same(findCircles(importGraph(files, false)), [], 'at run time')
  t.same(findCircles(importGraph(files, true)), [], 'by types')
  const planted = (names: string) =>
    new Map([...names].map((name, at): [string, Set<string>] => [name, new Set([names[at + 1] ?? names[0]])]))
  t.same(findCircles(new Map([...planted('abc'), ['d', new Set(['a'])]])), [['a', 'b', 'c']])
})

t.test('every folder of src has a row', async (t) => {
  const layers = new Set(programFiles().map((file) => pathLayer(file.path)))
  await every(t, 'every layer', async (t) => {
    for (const layer of layers) {
      if (layer === undefined || layer === 'app' || layer === 'cli' || layer.startsWith('plugins/') || layer.startsWith('dialects/'))
        continue
      t.ok(ALLOWED[layer], layer)
    }
  })
})

t.test('the scanner reads every form of import', async (t) => {
  const source = [
    "import a from './a.ts'",
    "import type { B } from './b.ts'",
    "import { type C, c } from './c.ts'",
    "import './d.ts'",
    "export * from './e.ts'",
    "export type { F } from './f.ts'",
    "export { g } from './g.ts'",
    'import {',
    '  h,',
    '  i,',
    "} from './h.ts'",
    "const j = await import('./j.ts')",
    "type K = typeof import('./k.ts')",
    "// import './comment.ts'",
    "/* import './comment.ts' */ import * as l from './l.ts'",
    "export const text = 'import x from y'",
    "export const url = 'http://a' // './m.ts'",
    "import type from './n.ts'",
    "export type * from './o.ts'",
  ].join('\n')
  const seen = listImports(source).map(({ specifier, typeOnly, line }) => `${line} ${specifier}${typeOnly ? ' type' : ''}`)
  t.same(
    seen.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
    [
      '1 ./a.ts',
      '2 ./b.ts type',
      '3 ./c.ts',
      '4 ./d.ts',
      '5 ./e.ts',
      '6 ./f.ts type',
      '7 ./g.ts',
      '8 ./h.ts',
      '12 ./j.ts',
      '13 ./k.ts type',
      '15 ./l.ts',
      '18 ./n.ts',
      '19 ./o.ts type',
    ],
  )
})

/** A planted import: from, to, kind, and whether it is allowed. */
const PLANTED: readonly [from: string, to: string, kind: 'value' | 'type', allowed: boolean][] = [
  ['src/core/ids.ts', 'src/core/clock.ts', 'value', true],
  ['src/core/ids.ts', 'src/dialects/canon/usage.ts', 'value', false],
  ['src/dialects/canon/fold.ts', 'src/core/faults.ts', 'value', true],
  ['src/dialects/canon/fold.ts', 'src/machines/sse/frames.ts', 'value', false],
  ['src/dialects/canon/fold.ts', 'src/machines/sse/frames.ts', 'type', true],
  ['src/config/load.ts', 'src/routing/catalog/catalog.ts', 'value', false],
  ['src/dialects/chat/wire.ts', 'src/machines/sse/frames.ts', 'value', true],
  ['src/dialects/chat/wire.ts', 'src/dialects/responses/wire.ts', 'value', false],
  ['src/dialects/chat/wire.ts', 'src/pipeline/chain.ts', 'type', false],
  ['src/dialects/chat/wire.ts', 'src/dialects/types.ts', 'value', true],
  ['src/dialects/registry.ts', 'src/dialects/chat/index.ts', 'value', true],
  ['src/ledger/credit.ts', 'src/store/journal.ts', 'value', false],
  ['src/store/journal.ts', 'src/ledger/types.ts', 'type', true],
  ['src/services/upstream/send.ts', 'src/machines/sse/frames.ts', 'value', true],
  ['src/services/upstream/send.ts', 'src/ledger/credit.ts', 'value', false],
  ['src/tools/datetime/index.ts', 'src/plugin-api/index.ts', 'value', true],
  ['src/tools/datetime/index.ts', 'src/core/faults.ts', 'value', false],
  ['src/tools/registry.ts', 'src/tools/datetime/index.ts', 'value', true],
  ['plugins/web/plugin.ts', 'src/plugin-api/index.ts', 'value', true],
  ['plugins/web/plugin.ts', 'src/core/faults.ts', 'value', false],
  ['plugins/web/plugin.ts', 'plugins/fusion/plugin.ts', 'value', false],
  ['plugins/web/settings.ts', 'src/config/fields/scalars.ts', 'value', true],
  ['plugins/web/settings.ts', 'src/plugin-api/index.ts', 'value', false],
  ['plugins/web/settings.ts', 'plugins/web/plugin.ts', 'value', false],
  ['src/config/schema/plugins.ts', 'plugins/registry.ts', 'value', true],
  ['src/config/schema/plugins.ts', 'plugins/web/plugin.ts', 'value', false],
  ['plugins/web/plugin.ts', 'src/server/listener.ts', 'type', false],
  ['src/pipeline/chain.ts', 'src/ledger/credit.ts', 'value', true],
  ['src/pipeline/chain.ts', 'src/config/load.ts', 'value', false],
  ['src/pipeline/chain.ts', 'src/dialects/chat/index.ts', 'value', false],
  ['src/pipeline/chain.ts', 'src/server/listener.ts', 'type', false],
  ['src/api/models.ts', 'src/routing/catalog/entry.ts', 'value', true],
  ['src/api/models.ts', 'src/pipeline/chain.ts', 'value', false],
  ['src/server/listener.ts', 'src/pipeline/chain.ts', 'value', true],
  ['src/server/listener.ts', 'src/store/open.ts', 'value', false],
  ['src/server/listener.ts', 'src/app/start.ts', 'type', false],
  ['src/app/start.ts', 'src/store/open.ts', 'value', true],
  ['src/cli/check.ts', 'src/config/load.ts', 'value', true],
  ['src/core/ids.ts', 'test/support/clock.ts', 'value', false],
  ['src/core/ids.ts', 'src/machines/metrics/metrics.ts', 'value', false],
  ['src/machines/sse/frames.ts', 'src/core/faults.ts', 'value', true],
  ['src/machines/sse/frames.ts', 'src/core/money.ts', 'value', false],
  ['src/machines/sse/frames.ts', 'src/dialects/canon/events.ts', 'value', false],
  ['plugins/web/plugin.ts', 'src/machines/metrics/metrics.ts', 'value', false],
  ['src/unknown/file.ts', 'src/core/ids.ts', 'value', false],
]

t.test('a planted import is refused exactly where the table says so', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [from, to, kind, allowed] of PLANTED)
      t.equal(objection(from, to, kind === 'type') === undefined, allowed, `${from} → ${to} (${kind})`)
  })
})

t.test('a broken rule is told with its line', async (t) => {
  const source = "import { a } from '../../core/ids.ts'\nimport { b } from '../../store/open.ts'\n"
  const broken = importViolations('src/dialects/canon/fold.ts', source)
  t.equal(broken.length, 1)
  t.match(broken[0], /^line 2: src\/dialects\/canon\/fold\.ts imports src\/store\/open\.ts/)
})
