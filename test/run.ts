/**
 * The test command: `node test/run.ts [--long | --clients | --servers] [filter …]`.
 * Runs the test files under tap and ends with the plain line `N passed, N failed`.
 * A filter keeps the files whose path contains it. `--long` adds the `*.long.ts` files and the
 * large counts (HEADGATE_LONG=1). `--clients` runs only the tests of third-party clients, which have
 * a lock file of their own. `--servers` runs only the tests that start a PostgreSQL or a Redis of their own, or a gateway of
 * several processes, and those that say so in their head because they take long; a filter finds them as well.
 */
import { execFileSync, spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { Report } from './support/report.ts'

const ROOT = dirname(import.meta.dirname)
const BIN = join(ROOT, 'node_modules', '.bin')
const CLIENTS = 'test/clients/'
const FLAGS = ['--long', '--clients', '--servers']
/** Seconds that one file may take. */
const FILE_SECONDS = { short: 120, long: 7200 }

interface Choice {
  long: boolean
  clients: boolean
  servers: boolean
  filters: string[]
}

function choiceOf(args: readonly string[]): Choice {
  const flags = args.filter((arg) => arg.startsWith('--'))
  const unknown = flags.find((flag) => !FLAGS.includes(flag))
  if (unknown) {
    console.error(`unknown option ${unknown}; known are ${FLAGS.join(', ')}`)
    process.exit(2)
  }
  const [long, clients, servers] = FLAGS.map((flag) => flags.includes(flag))
  return { long, clients, servers, filters: args.filter((arg) => !arg.startsWith('--')) }
}

function filesOf(choice: Choice): string[] {
  const patterns = choice.long ? ['test/**/*.test.ts', 'test/**/*.long.ts'] : ['test/**/*.test.ts']
  return globSync(patterns, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.startsWith(CLIENTS) === choice.clients)
    .filter((path) => choice.clients || choice.long || choice.filters.length > 0 || needsServers(path) === choice.servers)
    .filter((path) => choice.filters.length === 0 || choice.filters.some((filter) => path.includes(filter)))
    .sort()
}

/** True for a test that starts a database, a cache or workers, some of which are nothing without one on the machine; and for the longest. */
function needsServers(path: string): boolean {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const starts = /from '[./]*\/support\/(postgres|redis|cluster|workers|credit-race)\.ts'/.test(text)
  return starts || text.slice(0, text.indexOf('*/')).includes('Runs with `npm run test:servers`')
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

function environment(choice: Choice): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}` }
  // tap's own TypeScript loader needs a compiler API that TypeScript 7 no longer has; Node strips the types itself.
  env.TAP_TYPE_STRIP_ONLY = '1'
  // Each file is a process of its own that loads the same sources: compiled once, they take half the processor time of most files.
  env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules', '.cache', 'compile')
  if (choice.long) {
    env.HEADGATE_LONG = '1'
    env.HEADGATE_SEED ??= String(Date.now() % 2_147_483_647)
    console.log(`seed ${env.HEADGATE_SEED}, commit ${commit()}`)
  }
  return env
}

function run(choice: Choice): void {
  const files = filesOf(choice)
  const report = new Report({ verbose: choice.filters.length > 0 })
  if (files.length === 0) {
    console.error('no test file matches')
    process.exitCode = report.close(1)
    return
  }
  const seconds = choice.long ? FILE_SECONDS.long : FILE_SECONDS.short
  const flags = ['--disable-coverage', '--reporter=tap', '--jobs=2', `--timeout=${seconds}`, '--allow-empty-coverage']
  const node = Number.parseInt(process.versions.node, 10) < 24 ? join(BIN, 'node') : process.execPath
  const tap = spawn(node, [join(BIN, 'tap'), ...flags, ...files], {
    cwd: ROOT,
    env: environment(choice),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))
  tap.stdout.on('data', (chunk: Buffer) => report.write(chunk))
  tap.on('error', (error) => {
    console.error(`tap does not start: ${error.message}`)
    process.exitCode = report.close(1)
  })
  tap.on('close', (code) => {
    process.exitCode = report.close(code ?? 1)
  })
}

run(choiceOf(process.argv.slice(2)))
