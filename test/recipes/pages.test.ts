/** Each page of docs/recipes has a test here that follows it, and its line in the list. */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { paths, ROOT, read } from '../repository/source-tree.ts'

const pages = paths('docs/recipes/*.md').map((page) => basename(page, '.md'))
const recipes = pages.filter((name) => name !== 'README')

t.test('every recipe is followed by a test and stands in the list', async (t) => {
  t.ok(recipes.length >= 10, `${recipes.length} recipes`)
  const list = read('docs/recipes/README.md')
  for (const name of recipes) {
    const test = `test/recipes/${name}.test.ts`
    t.ok(existsSync(join(ROOT, test)), `${test} is there`)
    t.match(read(test), `docs/recipes/${name}.md`, 'and names its page')
    t.match(list, `(${name}.md)`)
  }
})
