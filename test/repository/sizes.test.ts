import t from 'tap'
import { every } from '../support/every.ts'
import { pathLayer, withoutComments } from './import-rules.ts'
import { paths, programFiles, read } from './source-tree.ts'

const MAX_FILE_LINES = 400
const VAGUE = /(^|[-_.])(utils?|helpers?|managers?|common|misc)([-_.]|$)/i

const lines = (text: string): number => text.replace(/\n$/, '').split('\n').length

t.test('no file of src and plugins is over 400 lines', async (t) => {
  const long = programFiles().filter((file) => lines(file.text) > MAX_FILE_LINES)
  t.same(
    long.map((file) => `${file.path}: ${lines(file.text)}`),
    [],
  )
})

t.test('the first floor of src is a few rooms, and no loose files', async (t) => {
  const entries = [...new Set(paths('src/*', 'src/*/**/*.ts').map((path) => path.split('/')[1]))]
  t.ok(entries.length <= 17, `${entries.length}: ${entries.join(' ')}`)
  t.same(
    entries.filter((entry) => entry.includes('.')),
    [],
  )
})

t.test('names say what a thing is', async (t) => {
  const vague = paths('{src,plugins,test,bench,scripts}/**/*.ts').filter((path) => path.split('/').some((part) => VAGUE.test(part)))
  t.same(vague, [])
  await every(t, 'every bad', async (t) => {
    for (const bad of ['utils.ts', 'json-helper.ts', 'manager', 'common.ts', 'misc']) t.match(bad, VAGUE)
  })
  await every(t, 'every good', async (t) => {
    for (const good of ['frames.ts', 'commonality.ts', 'miscount.ts']) t.notMatch(good, VAGUE)
  })
})

/** The purpose that a folder states: in the table of the architecture, in its README, or in the opening comment of its main file. */
function folderPurpose(folder: string): string | undefined {
  const row = read('docs/architecture.md')
    .split('\n')
    .find((line) => line.startsWith('|') && line.includes(`\`${folder}/\``))
  if (row) return row
  const [readme] = paths(`${folder}/README.md`)
  if (readme)
    return read(readme)
      .split('\n')
      .find((line) => line.trim() !== '' && !line.startsWith('#'))
  const [main] = paths(`${folder}/{index,tool,plugin}.ts`)
  return main ? /^\/\*\*\s*(?:\*\s*)?([^\n]+)/.exec(read(main))?.[1] : undefined
}

t.test('every folder of src and every plugin states its purpose', async (t) => {
  const folders = new Set<string>()
  for (const { path } of programFiles()) {
    const parts = path.split('/').slice(0, -1)
    if (parts.length >= 2) folders.add(parts.slice(0, 2).join('/'))
    if (['dialects', 'services', 'routing', 'cluster'].includes(parts[1]) && parts.length >= 3) folders.add(parts.slice(0, 3).join('/'))
  }
  t.ok(folders.size >= 5, 'folders were found')
  await every(t, 'every folder', async (t) => {
    for (const folder of [...folders].sort()) t.match(folderPurpose(folder) ?? '', /\w.*\./, folder)
  })
})

/** Names of services: data in YAML and documentation, never a condition in code. */
const PROVIDERS = ['openai', 'anthropic', 'google', 'gemini', 'mistral', 'deepseek', 'azure', 'bedrock', 'cohere', 'groq', 'xai', 'ollama']
const CONDITION = new RegExp(
  `(?:[!=]==?\\s*|\\bcase\\s+|\\b(?:includes|startsWith|endsWith|has)\\(\\s*)(['"\`])(?:${PROVIDERS.join('|')})\\b`,
  'i',
)

t.test('no provider name in a condition outside the dialects', async (t) => {
  const leaks = programFiles()
    .filter(({ path }) => !pathLayer(path)?.startsWith('dialects/'))
    .flatMap((file) =>
      withoutComments(file.text)
        .split('\n')
        .map((line, index) => ({ line, place: `${file.path}:${index + 1}` }))
        .filter(({ line }) => CONDITION.test(line))
        .map(({ line, place }) => `${place}: ${line.trim()}`),
    )
  t.same(leaks, [])
  await every(t, 'every bad', async (t) => {
    for (const bad of ["if (name === 'openai')", "case 'anthropic':", 'slug.startsWith("mistral")']) t.match(bad, CONDITION)
  })
  await every(t, 'every good', async (t) => {
    for (const good of ["const url = 'openai'", "if (dialect.id === 'chat')"]) t.notMatch(good, CONDITION)
  })
})

/** Words that promise later work stand anywhere; casts that switch the types off stand in code. */
const EXCUSES = new RegExp(['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX\\b', '@ts-' + 'ignore', '\\bfor ' + 'now\\b'].join('|'))
const CASTS = new RegExp('\\bas ' + 'any\\b')

function linesMatching(path: string, text: string, pattern: RegExp): string[] {
  return text
    .split('\n')
    .map((line, index) => ({ line, place: `${path}:${index + 1}` }))
    .filter(({ line }) => pattern.test(line))
    .map(({ line, place }) => `${place}: ${line.trim()}`)
}

t.test('no excuse is left in the code', async (t) => {
  const all = paths('{src,plugins,test,bench,scripts,bin}/**/*.{ts,js}')
  t.ok(all.length > 20, 'the code was found')
  const excuses = all.flatMap((path) => {
    const text = read(path)
    return [...linesMatching(path, text, EXCUSES), ...linesMatching(path, withoutComments(text), CASTS)]
  })
  t.same(excuses, [])
})
