/** The worked examples of docs/migration: each loads without a warning, and `headgate plan` prints what its page shows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { check } from '../../src/cli/check.ts'
import { plan } from '../../src/cli/plan.ts'
import { isObject, type Json } from '../../src/core/json.ts'
import { paths, read } from '../repository/source-tree.ts'
import { bash, executable, pageBlocks } from '../support/command-blocks.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { printed } from '../support/printed.ts'

interface Fence {
  at: number
  text: string
}

const fences = (page: string, language: string): Fence[] =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(({ index, 1: text }) => ({ at: index, text }))

/** Values of the variables that a file names. */
const placeholderValues = (text: string): Record<string, string> =>
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
      const { code, out, error } = await printed((streams) => check(file, placeholderValues(text), streams))
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
      const shown = await printed((streams) => plan([file, join(folder, 'request.json')], { key }, placeholderValues(config), streams))
      t.equal(shown.code, 0, shown.error)
      for (const part of text.trim().split('\n\n')) t.ok(shown.out.includes(part), `the plan has\n${part}\nand is\n${shown.out}`)
    }
  })

const LITELLM = 'docs/migration/litellm.md'

/** Variables that the page has its reader set. */
const VALUES = `for name in AZURE_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY LITELLM_MASTER_KEY; do export "$name=sk-value-of-$name-0123456789"; done
export HEADGATE_DATABASE=postgres://headgate@db.example/headgate`

const REPORT: readonly (readonly [RegExp, string])[] = [
  [/litellm_params\.timeout: timeouts\.total of the provider: the time of one attempt, to the end of its stream/, 'which time limit'],
  [/fallbacks\[0\]\.gpt-5-mini(?:\[0\])?: endpoints of gpt-5-mini behind its own: provider\.order has the place of each/, 'fallbacks'],
  [/database_url: store\.url, by HEADGATE_DATABASE: another database than that of LiteLLM/, 'which database'],
  [/^ {2}HEADGATE_APP_KEY: Key for callers/m, 'which variables'],
  [/^and: headgate plan headgate\.yaml REQUEST\.json --key app$/m, 'which key'],
]

t.test('the commands of the LiteLLM page run as they stand, on the file of its example', async (t) => {
  const example = fences(LITELLM, 'text').find(({ text }) => text.startsWith('model_list:'))?.text ?? ''
  const folder = t.testdir({
    bin: {},
    'litellm.yaml': example,
    'request.json': JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  executable(join(folder, 'bin', 'headgate'), '#!/bin/sh\nexec "$NODE" "$HEADGATE" "$@"\n')
  const blocks = pageBlocks(LITELLM).filter(({ excuse }) => excuse?.startsWith('runs in test/documents') === true)
  t.equal(blocks.length, 3, 'import, check and plan')
  const [imported, checked, planned] = blocks
  // The reader's shell keeps what one block sets for the next.
  const session = `exec 2>&1\n${imported?.code}\n${VALUES}\n${checked?.code}\n${planned?.code}`
  const { failed, out, error } = await bash(session, folder, {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    NODE: process.execPath,
    HEADGATE: LAUNCHER,
  })
  t.notOk(failed, `${out}${error}`)
  for (const [part, what] of REPORT) t.match(out, part, what)
  t.match(out, /headgate\.yaml: ok, 4 providers/)
  t.match(
    out,
    /warning: the price snapshot has no price for gpt-5-mini@azure\/place-1, qwen-local@openai-2: .*State a price/,
    'as the page says',
  )
  t.equal(out.split('warning').length, 2, 'no other one')
  t.notMatch(out, /left out for want/)
  t.match(out, /gpt-5-mini\nchat format, for the key app\n/)
  t.match(
    out,
    /1 +azure\/place-1 [\s\S]*2 +openai\/place-2 [\s\S]*3 +anthropic\/place-3 /,
    'the order of the deployments, then the fallback',
  )
  t.notMatch(readFileSync(join(folder, 'headgate.yaml'), 'utf8'), /DATABASE_URL/, 'not the database of LiteLLM')
})
