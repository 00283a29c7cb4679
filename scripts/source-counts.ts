/**
 * Size and shape of the sources: `node scripts/source-counts.ts [--list]`.
 * Prints files, files with one importer, import circles (also of the control room and the benches), the entries of `src`, in how many files
 * one thing of each kind is named, and of a streamed chat request, passed on and translated: the functions that it enters, and how often it
 * goes from one file to another. --list names them.
 */
import { dirname } from 'node:path'
import { findCircles, importGraph } from '../test/repository/import-circles.ts'
import { filesWithoutCircles, programFiles, type SourceFile } from '../test/repository/source-tree.ts'
import { entriesDuring, type SourceFunction } from './source-counts/function-entries.ts'

// What the entries are recorded of is loaded behind the hook.
const { oneModel, startGateway } = await import('../test/support/gateway.ts')
const { startUpstream } = await import('../test/support/upstream.ts')
const { answerFor } = await import('../test/support/wire.ts')

const LIST = process.argv.includes('--list')

function print(what: string, count: number | string, list: readonly string[] = []): void {
  console.log(`${what.padEnd(58)} ${String(count).padStart(6)}`)
  if (LIST) for (const item of list) console.log(`    ${item}`)
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

function printFiles(files: readonly SourceFile[]): void {
  const source = files.filter(({ path }) => path.startsWith('src/'))
  const graph = importGraph(files, true)
  const importers = (path: string): string[] => [...graph].filter(([, targets]) => targets.has(path)).map(([from]) => from)
  const single = source.filter(({ path }) => importers(path).length === 1)
  const entries = [...new Set(source.map(({ path }) => path.split('/')[1] ?? ''))].sort()
  print('files of src', source.length)
  print('lines of a file of src, median', median(source.map(({ text }) => text.split('\n').length - 1)))
  print(
    'files of src with one importer',
    single.length,
    single.map(({ path }) => `${path} < ${importers(path)[0]}`),
  )
  print('entries of src', entries.length, entries)
  for (const [what, types] of [
    ['import circles at run time', false],
    ['import circles with types', true],
  ] as const) {
    const circles = findCircles(importGraph(filesWithoutCircles(), types))
    print(
      what,
      circles.length,
      circles.map((circle) => circle.join(' ')),
    )
  }
}

/** Names of things of which one was added, and where they stand besides. */
const NAMED = [
  { kind: 'routing criterion', word: 'distillable' },
  { kind: 'setting', word: 'silence' },
  { kind: 'metric', word: 'shed_total' },
  { kind: 'plugin', word: 'response-healing' },
  { kind: 'dialect', word: 'gemini' },
] as const

function printNamed(files: readonly SourceFile[]): void {
  for (const { kind, word } of NAMED) {
    const found = files.filter(({ path, text }) => text.includes(word) && !path.split('/').slice(0, -1).includes(word))
    print(
      `files that name the ${kind} ${word}`,
      found.length,
      found.map(({ path }) => path),
    )
  }
}

/** Functions that a streamed chat request enters, in order. @param dialect that its provider speaks. */
async function functionsOfRequest(dialect: 'openai-chat' | 'openai-responses'): Promise<readonly SourceFunction[]> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['Hello', ' world'] }))
  const gateway = await startGateway(oneModel(upstream.url, dialect))
  const request = async (): Promise<void> => {
    const body = { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    const reply = await gateway.post('/v1/chat/completions', body)
    const text = await reply.text()
    if (!text.includes('world')) throw new Error(`no answer: ${text}`)
  }
  // What is made once, at the first requests, is no part of a request.
  for (let warm = 0; warm < 3; warm++) await request()
  const runs: (readonly SourceFunction[])[] = []
  for (let run = 0; run < 5; run++) runs.push(await entriesDuring(request))
  await gateway.close()
  await upstream.close()
  // Timers of the gateway's own, such as a look at the configuration file, fire in some of them.
  return runs.toSorted((a, b) => a.length - b.length)[0] ?? []
}

/** Number of places that the walk enters one after another, the first included. */
const changes = (places: readonly string[]): number => places.filter((place, at) => place !== places[at - 1]).length

/** Files with their visits, the most visited first. */
function visits(paths: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const [at, path] of paths.entries()) if (path !== paths[at - 1]) counts.set(path, (counts.get(path) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([path, count]) => `${path} ${count}`)
}

async function printWalk(name: string, dialect: Parameters<typeof functionsOfRequest>[0]): Promise<void> {
  const entries = await functionsOfRequest(dialect)
  const paths = entries.map(({ path }) => path)
  const functions = [...new Set(entries.map(({ path, name }) => `${path}: ${name}`))].sort()
  print(`${name}: functions that a streamed request enters`, functions.length, functions)
  print('  entries of functions', entries.length)
  print('  files', new Set(paths).size)
  print('  stays: changes of file', changes(paths), visits(paths))
  print('  changes of folder', changes(paths.map((path) => dirname(path))))
}

const files = programFiles()
printFiles(files)
printNamed(files)
await printWalk('pass lane', 'openai-chat')
await printWalk('translated', 'openai-responses')
