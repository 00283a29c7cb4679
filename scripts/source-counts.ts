/**
 * Size and shape of the sources: `node scripts/source-counts.ts [--list]`.
 * Prints files, files with one importer, import circles, the entries of `src`, the files and functions through which one
 * streamed chat request of the pass lane runs, and in how many files one thing of each kind is named. --list names the files.
 */
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { circlesOf, importGraph } from '../test/repository/import-circles.ts'
import { programFiles, ROOT, type SourceFile } from '../test/repository/source-tree.ts'
import { oneModel, startGateway } from '../test/support/gateway.ts'
import { startUpstream } from '../test/support/upstream.ts'
import { answerFor } from '../test/support/wire.ts'

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
    const circles = circlesOf(importGraph(files, types))
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

/** Functions of ours that run during each of some requests, as `file: name`. */
async function functionsOfRequest(): Promise<string[]> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['Hello', ' world'] }))
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  const ask = async (): Promise<void> => {
    const body = { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    const reply = await gateway.post('/v1/chat/completions', body)
    const text = await reply.text()
    if (!text.includes('world')) throw new Error(`no answer: ${text}`)
  }
  // What is made once, at the first requests, is no part of a request.
  for (let warm = 0; warm < 3; warm++) await ask()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const runs: string[][] = []
  for (let run = 0; run < 3; run++) {
    await ask()
    runs.push(ranIn((await session.post('Profiler.takePreciseCoverage')).result))
  }
  session.disconnect()
  await gateway.close()
  await upstream.close()
  // A timer of the gateway's own, such as a look at the configuration file, fires in one of them at most.
  return runs.reduce((all, run) => all.filter((name) => run.includes(name)))
}

function ranIn(coverage: readonly Profiler.ScriptCoverage[]): string[] {
  return coverage.flatMap(({ url, functions }) => {
    const path = url.startsWith('file://') ? fileURLToPath(url).slice(ROOT.length + 1) : ''
    if (!/^(src|plugins)\//.test(path)) return []
    return functions
      .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName, ranges }) => `${path}: ${functionName || 'anonymous'} at ${ranges[0]?.startOffset}`)
  })
}

const files = programFiles()
printFiles(files)
printNamed(files)
const functions = await functionsOfRequest()
const touched = [...new Set(functions.map((name) => name.slice(0, name.indexOf(':'))))].sort()
print('files that a streamed request of the pass lane runs through', touched.length, touched)
print('  of them in src/pipeline', touched.filter((path) => path.startsWith('src/pipeline/')).length)
print('functions of that request', functions.length, functions.sort())
