import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { paths, ROOT, read } from './source-tree.ts'

const LAYERS = 'src/pipeline/layers'

/** Files and folders of the program that a text names, those of its own worked example left out. */
function namedPaths(text: string): string[] {
  const examples = [...text.matchAll(/Save it as `([^`]+)\//g)].map(([, folder]) => `${folder}/`)
  const named = [...text.matchAll(/(?<![\w./-])(?:src|plugins)\/[\w./-]*[\w/](?![\w<])/g)].map(([path]) => path)
  return named.filter((path) => !path.endsWith('.') && !examples.some((folder) => path.startsWith(folder)))
}

t.test('every file of the program that the documents name exists', async (t) => {
  let count = 0
  for (const page of [...paths('docs/**/*.md', 'src/**/*.md', 'plugins/**/*.md'), 'README.md', 'CONTRIBUTING.md']) {
    for (const path of namedPaths(read(page))) {
      count++
      t.ok(existsSync(join(ROOT, path)), `${page}: ${path}`)
    }
  }
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
  for (const line of read('docs/architecture.md').split('\n')) {
    const { names, files } = namedFunctions(line)
    const code = files.map((file) => (existsSync(join(ROOT, file)) ? read(file) : '')).join('\n')
    for (const name of names) {
      count++
      t.match(code, new RegExp(`\\b${name}\\(`), `${name} in ${files.join(', ')}`)
    }
  }
  t.ok(count > 40, 'functions were found')
})

/** The list in the chain's opening comment. */
function listed(source: string): string[] {
  const header = source.slice(0, source.indexOf('*/'))
  return [...header.matchAll(/^ \* +(\d+)\. (\w+) /gm)].map(([, number, name]) => `${number} ${name}`)
}

/** The layers from the outermost inwards, as each one is given what follows it. */
function composed(source: string): string[] {
  const layers = new Set([...source.matchAll(/from '\.\/layers\/([\w-]+)\.ts'/g)].map(([, name]) => name))
  const made = new Map<string, { layer: string; next: string | undefined }>()
  let current: { layer: string; next: string | undefined } | undefined
  for (const [, variable, layer, next] of source.matchAll(/^ +(?:const (\w+)[^=\n]*=|return) (\w+)\([^()]*\)(?:\((\w+)\))?$/gm)) {
    if (!layers.has(layer)) continue
    if (variable) made.set(variable, { layer, next })
    else current = { layer, next }
  }
  const order: string[] = []
  while (current) {
    order.push(`${order.length + 1} ${current.layer}`)
    current = current.next === undefined ? undefined : made.get(current.next)
  }
  return order
}

t.test('the chain is composed in the order of its list', async (t) => {
  const chain = read('src/pipeline/chain.ts')
  const order = composed(chain)
  t.equal(order.length, 11, 'all layers are composed')
  t.same(listed(chain), order, 'the list in the comment')
  const swapped = chain.replace('guard(settings.guardrails)(shaped)', 'guard(settings.guardrails)(conversed)')
  t.not(swapped, chain)
  t.notSame(composed(swapped), order, 'another composition is another order')
})

t.test('each layer says its number', async (t) => {
  const numbers = paths(`${LAYERS}/*.ts`).map((path) => `${/^\/\*\* (\d+)\. /.exec(read(path))?.[1]} ${path.slice(LAYERS.length + 1, -3)}`)
  t.same(
    numbers.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
    composed(read('src/pipeline/chain.ts')),
  )
})

t.test('the documents show the same order', async (t) => {
  const order = composed(read('src/pipeline/chain.ts'))
  const architecture = [...read('docs/architecture.md').matchAll(/^(\d+)\. `(\w+)`: /gm)].map(([, number, name]) => `${number} ${name}`)
  t.same(architecture, order, 'architecture')
  const [picture] = /^ client ─► .*$/m.exec(read('README.md')) ?? ['']
  const shown = picture.split('─►').map((name) => name.trim())
  t.same(
    shown.slice(1, -1).map((name, i) => `${i + 1} ${name}`),
    order,
    'the picture of the README',
  )
})
