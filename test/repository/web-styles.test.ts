/** Styles of the pages of the control room: they stand in one style sheet, so a class of one page must not style another one. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const FOLDER = new URL('../../web/pages/', import.meta.url)

t.test('no class begins selectors of two pages', async (t) => {
  const pagesByClass = new Map<string, Set<string>>()
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.css')))
    for (const [, name = ''] of readFileSync(new URL(file, FOLDER), 'utf8').matchAll(/^\.([\w-]+)/gm))
      pagesByClass.set(name, (pagesByClass.get(name) ?? new Set()).add(file))
  t.ok(pagesByClass.size > 50, `${pagesByClass.size} classes`)
  t.same(
    [...pagesByClass].flatMap(([name, pages]) => (pages.size > 1 ? [`${name}: ${[...pages].join(', ')}`] : [])),
    [],
  )
})
