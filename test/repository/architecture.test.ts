import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { OPERATIONS, type Operation, operationLayers } from '../../src/pipeline/chain.ts'
import { every } from '../support/every.ts'
import { paths, ROOT, read } from './source-tree.ts'

/** Files and folders of the program that a text names, those of its own worked example left out. */
function namedPaths(text: string): string[] {
  const examples = [...text.matchAll(/Save it as `([^`]+)\//g)].map(([, folder]) => `${folder}/`)
  const named = [...text.matchAll(/(?<![\w./-])(?:src|plugins)\/[\w./-]*[\w/](?![\w<])/g)].map(([path]) => path)
  return named.filter((path) => !path.endsWith('.') && !examples.some((folder) => path.startsWith(folder)))
}

t.test('every file of the program that the documents name exists', async (t) => {
  let count = 0
  await every(t, 'every page', async (t) => {
    for (const page of [...paths('docs/**/*.md', 'src/**/*.md', 'plugins/**/*.md'), 'README.md', 'CONTRIBUTING.md']) {
      for (const path of namedPaths(read(page))) {
        count++
        t.ok(existsSync(join(ROOT, path)), `${page}: ${path}`)
      }
    }
  })
  t.ok(count > 60, 'paths were found')
  t.same(namedPaths('`src/a.ts`, (src/b/) and plugins/c/d.ts. Not /src/e.ts.'), ['src/a.ts', 'src/b/', 'plugins/c/d.ts'])
  t.same(namedPaths('Save it as `plugins/mine/plugin.ts`; `plugins/mine/config.ts`, `plugins/yours.ts`'), ['plugins/yours.ts'])
})

t.test('the architecture names every folder and every file of the composition root', async (t) => {
  const folders = paths('src/**/*.ts').map((path) => path.split('/').slice(0, -1))
  // Rooms, the folders of rooms that have several of them, and the files of the composition root.
  const rooms = folders.map((parts) => parts.slice(0, parts[1] === 'services' ? 3 : 2).join('/'))
  const parts = [...new Set([...rooms, ...paths('src/app/*.ts')])]
  const named = namedPaths(read('docs/architecture.md'))
  t.ok(parts.length > 10)
  t.same(
    parts.filter((part) => part !== 'src/README.md' && !named.some((path) => path === part || path.startsWith(`${part}/`))),
    [],
  )
})

/** Functions that a line of prose names, with the files that the same line names. */
function namedFunctions(line: string): { names: string[]; files: string[] } {
  const names = [...line.matchAll(/`(?:\w+\.)*(\w+)\(\)`/g)].map(([, name]) => name)
  return { names, files: namedPaths(line).filter((path) => path.endsWith('.ts')) }
}

t.test('every function that the architecture names stands in a file of the same line', async (t) => {
  let count = 0
  await every(t, 'every line', async (t) => {
    for (const line of read('docs/architecture.md').split('\n')) {
      const { names, files } = namedFunctions(line)
      const code = files.map((file) => (existsSync(join(ROOT, file)) ? read(file) : '')).join('\n')
      for (const name of names) {
        count++
        t.match(code, new RegExp(`\\b${name}\\(`), `${name} in ${files.join(', ')}`)
      }
    }
  })
  t.ok(count > 40, 'functions were found')
})

/** The layers of an operation, with its end. */
const names = (operation: Operation): string[] => operationLayers(operation).map(({ name }) => name)

t.test('a plan and a count go through the layers of an answer as far as they go', async (t) => {
  const generate = names('generate')
  const shared = (operation: Operation): string[] => names(operation).filter((name) => generate.includes(name))
  t.same(
    names('count').slice(0, -1),
    generate.filter((name) => names('count').includes(name)),
    'count',
  )
  t.same(
    shared('plan'),
    generate.filter((name) => names('plan').includes(name)),
    'plan',
  )
  t.same(
    shared('embed'),
    generate.filter((name) => names('embed').includes(name)),
    'embed',
  )
})

t.test('a file of the pipeline is named after each layer', async (t) => {
  const files = new Set(paths('src/pipeline/**/*.ts').map((path) => path.split('/').at(-1)))
  const layers = new Set(OPERATIONS.flatMap((operation) => names(operation).slice(0, -1)))
  // Three that share a file with what they are like.
  t.same([...layers].filter((name) => !files.has(`${name}.ts`)).sort(), ['admit', 'explain', 'reread'])
})

t.test('the documents show the same order', async (t) => {
  const order = names('generate')
  const architecture = [...read('docs/architecture.md').matchAll(/^(\d+)\. `(\w+)`: /gm)].map(([, number, name]) => `${number} ${name}`)
  t.same(
    architecture,
    order.map((name, i) => `${i + 1} ${name}`),
    'architecture',
  )
  const [picture] = /^ client ─► .*$/m.exec(read('README.md')) ?? ['']
  const shown = picture.split('─►').map((name) => name.trim())
  t.same(shown.slice(1, -1), order, 'the picture of the README')
})
