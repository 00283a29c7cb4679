/**
 * The packed package alone: every page that its help, its messages and its configuration files name can be read with it, and npm has no
 * script of it to warn of.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'
import { packedOnce } from './tarball.ts'

t.setTimeout(600_000)

const work = mkdtempSync(join(tmpdir(), 'headgate-manual-'))
t.teardown(() => rmSync(work, { recursive: true, force: true }))
execFileSync('tar', ['-xzf', packedOnce(), '-C', work])
const unpacked = join(work, 'package')
symlinkSync(join(ROOT, 'node_modules'), join(unpacked, 'node_modules'))

/** A page of the documents in a text or a comment. Presets and agents name pages of others as their sources. */
const PAGE = /(?<![\w./-])docs\/[\w/-]*\w(?:\.md)?(?:#[\w-]+)?(?![\w.])/g
const OTHERS = new Set(['docs/models.md', 'docs/settings.md', 'docs/walle.md'])

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

function headgate(...words: string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(unpacked, 'bin/headgate.js'), ...words], {
    cwd: work,
    encoding: 'utf8',
  })
  return { code: status, out: stdout, error: stderr }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(join(unpacked, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

t.test('each page that a message or a configuration file names is printed', async (t) => {
  const texts = [...filesBelow('dist/program'), ...filesBelow('dist/config')].filter((file) => /\.js$|config\/\w+\.yaml$/.test(file))
  const named = new Set(texts.flatMap((file) => readFileSync(file, 'utf8').match(PAGE) ?? []).filter((page) => !OTHERS.has(page)))
  t.ok(named.size > 20, `${named.size} pages are named`)
  await every(t, 'pages', (t) => {
    for (const page of named) {
      const shown = headgate('manual', page)
      t.match(shown, { code: 0, error: '' }, page)
      t.ok(shown.out.length > 20, page)
    }
  })
})

/** The verbs below the words of one, as its help lists them. */
function verbsBelow(words: readonly string[]): string[][] {
  const lines = headgate(...words, '--help').out.split('\n')
  const names = lines.flatMap((line) => /^ {2}([a-z][a-z_-]*) {2,}\S/.exec(line)?.[1] ?? []).filter((name) => name !== 'help')
  return names.flatMap((name) => [[...words, name], ...verbsBelow([...words, name])])
}

t.test('each page that the help of a verb names is printed', async (t) => {
  const verbs = verbsBelow([])
  t.ok(verbs.length > 40, `${verbs.length} verbs`)
  const named = new Map(verbs.map((words) => [/^More: headgate (manual.*)$/m.exec(headgate(...words, '--help').out)?.[1] ?? '', words]))
  await every(t, 'pages', (t) => {
    for (const [command, words] of named) t.match(headgate(...command.split(' ')), { code: 0, error: '', out: /^# / }, words.join(' '))
  })
})

t.test('a page that is not there is refused with its likely name', async (t) => {
  t.match(headgate('manual', 'kees'), { code: 1, out: '', error: /no page kees, did you mean "keys"\?/ })
  t.match(headgate('manual', 'keys#sesions'), { code: 1, out: '', error: /no such part, did you mean "sessions"\?/ })
  t.match(headgate('manual', 'clouds'), { code: 0, out: /^headgate manual clouds\/aws$/m })
})

t.test('what is packed has no script, and the clone keeps its own', async (t) => {
  const folderScripts = (folder: string): object | undefined =>
    (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts?: object }).scripts
  t.equal(folderScripts(unpacked), undefined)
  t.match(folderScripts(ROOT), { prepare: String, start: String })
})
