/** The worked examples of docs/migration: each loads without a warning, and `headgate plan` prints what its page shows. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { check } from '../../src/cli/check.ts'
import { plan } from '../../src/cli/plan.ts'
import { isObject, type Json } from '../../src/core/json.ts'
import { paths, read } from '../repository/source-tree.ts'
import { printed } from '../support/printed.ts'

interface Fence {
  at: number
  text: string
}

const fences = (page: string, language: string): Fence[] =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(({ index, 1: text }) => ({ at: index, text }))

/** Values of the variables that a file names. */
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => [name, `sk-value-of-${name.toLowerCase()}`]))

/** The request of an example: the body that the page shows before the file, else one that names what the plan is for. */
function requestFor(page: string, before: number, model: string): Json {
  const shown = fences(page, 'json')
    .filter(({ at }) => at < before)
    .map(({ text }) => JSON.parse(text) as Json)
    .findLast((body) => isObject(body) && body.messages !== undefined)
  return shown ?? { model, messages: [{ role: 'user', content: 'Hello' }] }
}

const pages = paths('docs/migration/*.md').filter((page) => !page.endsWith('/README.md'))

t.test('there are pages with examples, each of a release that it names', async (t) => {
  t.ok(pages.length >= 3)
  for (const page of pages) t.match(read(page), /^Compared with .*\b20\d\d-\d\d/m, `${page}: scripts/migration-versions.ts`)
})

for (const page of pages)
  t.test(page, async (t) => {
    const folder = t.testdir()
    const file = join(folder, 'headgate.yaml')
    const files = fences(page, 'yaml').filter(({ text }) => /^providers:/m.test(text))
    t.ok(files.length > 0, 'it has a configuration')
    for (const { text } of files) {
      writeFileSync(file, text)
      const { code, out, error } = await printed((streams) => check(file, variablesOf(text), streams))
      t.equal(code, 0, `${out}${error}`)
      t.notMatch(out, /warning|left out/i, 'nothing is amiss')
    }
    const plans = fences(page, 'text').filter(({ text }) => /^.* as .*\n\w+ format, for the key /.test(text))
    t.equal(plans.length, 1, 'it shows a plan')
    for (const { at, text } of plans) {
      const config = files.findLast((fence) => fence.at < at)?.text ?? ''
      const [, model = '', key = ''] = /^(\S+) .*\n.* for the key (\S+)$/m.exec(text) ?? []
      writeFileSync(file, config)
      writeFileSync(join(folder, 'request.json'), JSON.stringify(requestFor(page, at, model)))
      const shown = await printed((streams) => plan([file, join(folder, 'request.json')], { key }, variablesOf(config), streams))
      t.equal(shown.code, 0, shown.error)
      for (const part of text.trim().split('\n\n')) t.ok(shown.out.includes(part), `the plan has\n${part}\nand is\n${shown.out}`)
    }
  })
