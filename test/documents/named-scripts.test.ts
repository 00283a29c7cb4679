/** Scripts that the pages name run by npm, which puts the Node that they need in front of the machine's own. */
import t from 'tap'
import { paths, read } from '../repository/source-tree.ts'

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...paths('docs/**/*.md')].filter(
  (page) => !page.startsWith('docs/decisions/'),
)
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

t.test('each npm script that a page names is there', async (t) => {
  const named = new Set(PAGES.flatMap((page) => [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name)))
  t.ok(named.size > 10, [...named].join(' '))
  t.same(
    [...named].filter((name) => !Object.hasOwn(scripts, name)),
    [],
  )
})

t.test('no page runs a script of the sources by the Node of the machine', async (t) => {
  t.same(
    PAGES.flatMap((page) => [...read(page).matchAll(/node (?:scripts|test|bench)\/[\w./-]+/g)].map(([line]) => `${page}: ${line}`)).filter(
      // Of a single test file CONTRIBUTING says which Node has to be first in the path; benches compare builds of one Node.
      (line) => !/^CONTRIBUTING\.md: node test\/core\/money\.test\.ts$|: node bench\//.test(line),
    ),
    [],
  )
})
