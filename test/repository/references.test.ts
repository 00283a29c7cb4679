/** References in comments and titles: numbers of documents that are not here are refused, and links lead to a heading that is there. */
import t from 'tap'
import { badReferences } from '../../scripts/references.ts'

const pages = new Map([['docs/a.md', '# Page\n\n## The first part\n']])
const found = (text: string): string[] => badReferences(text, (path) => pages.get(path)).map(({ line, found }) => `${line} ${found}`)

t.test('refuses numbered statements, and names the line', async (t) => {
  t.same(found(`// fine\n// see C-014 and contract section 2.2\n// contract 1.6`), [`2 C-014`, '2 contract section 2', '3 contract 1.6'])
  t.same(found(`// (issue 15 section 4), (issue 22)`), [`1 issue 15 section`, `1 (issue 15`, `1 (issue 22`])
  t.same(found(`t.test('M01: money', () => {})`), ['1 M01:'])
})

t.test('accepts references that a stranger can follow', async (t) => {
  t.same(found('// acme/widgets issue 15, RFC 9112 section 6, and a contract section'), [])
  t.same(found('// docs/a.md, docs/a.md#the-first-part'), [])
})

t.test('refuses a page or heading that does not exist', async (t) => {
  t.same(found(`// docs/b.md\n// docs/a.md#second`), ['1 docs/b.md', '2 docs/a.md#second'])
})
