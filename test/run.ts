/**
 * The test command: `node test/run.ts [--long | --clients | --servers | --model-servers | --recordings | --delivery | --browser] [--alone] [--again] [filter …]`.
 * Runs the test files, each a tap script: several in a process, one after another, but for those that change or measure the process
 * (`support/file-groups.ts`). What took longest in the last run comes first, as many processes at once as there are processors, one more of
 * those that need nothing beside, of clients twice as many.
 * Ends with the plain line `N passed, N failed`. `--alone` gives each file a process of its own.
 * `--again` runs files that failed once more at the end, each alone, and names those that pass then: limits of time that a crowd broke.
 * A filter keeps the files whose path contains it. `--long` adds the `*.long.ts` files and the
 * large counts (HEADGATE_LONG=1), those of `test/clients/` among them. `--clients` runs only the tests of third-party clients, which have
 * a lock file of their own. `--servers` runs only the tests that start a PostgreSQL or a Redis of their own, or a gateway of
 * several processes, and those that say so in their head because they take long; a filter finds them as well.
 * `--agents` runs only the real coding agents (`test/agents/*.agent.ts`), one after the other: a short task each, everything with `--long`.
 * `--recordings` runs only the tests that replay recorded traffic of real providers, which is no part of the repository.
 * `--delivery` runs only the tests of what is delivered (`test/delivery/`): they build it, install it in an empty folder and use it.
 * `--browser` runs only the tests of the control room in a real browser (`test/control-room/`).
 * `--model-servers` runs only the tests with real model servers (`test/servers-real/`), one after the other.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { FileGroups } from './support/file-groups.ts'
import { FileOutputs } from './support/file-outputs.ts'
import { builtLauncher } from './support/launcher.ts'
import { ofChildren } from './support/processor-time.ts'
import { Report } from './support/report.ts'

const ROOT = dirname(import.meta.dirname)
const BIN = join(ROOT, 'node_modules', '.bin')
const CLIENTS = 'test/clients/'
const RECORDINGS = 'test/recordings/'
const DELIVERY = 'test/delivery/'
const BROWSER = 'test/control-room/'
const MODEL_SERVERS = 'test/servers-real/'
/** Milliseconds that each file took when it ran last, on this machine. */
const TIMES = join(ROOT, 'node_modules', '.cache', 'test-times.json')
/** Files that begin first where no run has left times, as in a clone. */
const LONGEST = [
  'test/gateway/operations/schema-beside.test.ts',
  'test/control-room/pages.test.ts',
  'test/clients/features.test.ts',
  'test/clients/ai-sdk.test.ts',
  'test/cli/help.test.ts',
  'test/cli/documented-commands.test.ts',
  'test/cli/gateway-address.test.ts',
]
const FLAGS = [
  '--long',
  '--clients',
  '--servers',
  '--recordings',
  '--agents',
  '--delivery',
  '--browser',
  '--model-servers',
  '--alone',
  '--again',
]
/** Runs the files of a list in one process. */
const ONE_PROCESS = join('test', 'support', 'one-process.ts')
/**
 * Seconds that one file may take: far more than it does, on a busy machine too. An agent, or what is delivered, is installed first;
 * a browser looks at each page in each form; a file of recordings takes thousands of them; clients of five languages start their programs.
 */
const FILE_SECONDS = { short: 300, clients: 900, browser: 900, recordings: 900, install: 900, models: 1800, long: 7200 }
/** More files than this that fail are no matter of a crowd. */
const MAX_AGAIN = 8
/** Seconds after which a file that has not ended by itself is killed. */
const GRACE = 20
const NODE = Number.parseInt(process.versions.node, 10) < 24 ? join(BIN, 'node') : process.execPath

interface Choice {
  long: boolean
  clients: boolean
  servers: boolean
  recordings: boolean
  agents: boolean
  delivery: boolean
  browser: boolean
  modelServers: boolean
  alone: boolean
  again: boolean
  filters: string[]
}

function parseChoice(args: readonly string[]): Choice {
  const flags = args.filter((arg) => arg.startsWith('--'))
  const unknown = flags.find((flag) => !FLAGS.includes(flag))
  if (unknown) {
    console.error(`unknown option ${unknown}; known are ${FLAGS.join(', ')}`)
    process.exit(2)
  }
  const [long, clients, servers, recordings, agents, delivery, browser, modelServers, alone, again] = FLAGS.map((flag) =>
    flags.includes(flag),
  )
  const filters = args.filter((arg) => !arg.startsWith('--'))
  return { long, clients, servers, recordings, agents, delivery, browser, modelServers, alone, again, filters }
}

function chosenFiles(choice: Choice): string[] {
  if (choice.agents) return agentFiles(choice.filters)
  const patterns = choice.long ? ['test/**/*.test.ts', 'test/**/*.long.ts'] : ['test/**/*.test.ts']
  return globSync(patterns, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.startsWith(CLIENTS) === choice.clients || isLongOfClients(path, choice))
    .filter((path) => path.startsWith(RECORDINGS) === choice.recordings)
    .filter((path) => path.startsWith(DELIVERY) === choice.delivery)
    .filter((path) => path.startsWith(BROWSER) === choice.browser)
    .filter((path) => path.startsWith(MODEL_SERVERS) === choice.modelServers)
    .filter((path) => choice.clients || choice.long || choice.filters.length > 0 || needsServers(path) === choice.servers)
    .filter((path) => choice.filters.length === 0 || choice.filters.some((filter) => path.includes(filter)))
    .sort()
}

/** Long runs through clients belong to all long runs: they need what `npm ci --prefix test/clients` installs. */
const isLongOfClients = (path: string, { long }: Choice): boolean => long && path.startsWith(CLIENTS) && path.endsWith('.long.ts')

/**
 * Processes at once. Tests wait for programs, and clients for each other: with one per processor a third and two thirds of it are idle.
 * Databases and browsers use what is left of it themselves.
 */
function processCount({ agents, modelServers, clients, servers, browser, delivery, recordings, long }: Choice): number {
  if (agents || modelServers) return 1
  if (clients) return 2 * availableParallelism()
  return servers || browser || delivery || recordings || long ? availableParallelism() : availableParallelism() + 1
}

/** The files of the agents that are named, of all where none is. */
function agentFiles(names: readonly string[]): string[] {
  const files = globSync('test/agents/*.agent.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  return files.filter((path) => names.length === 0 || names.includes(basename(path, '.agent.ts'))).sort()
}

/** True for a test that starts a database, a cache or workers, some of which are nothing without one on the machine; and for the longest. */
function needsServers(path: string): boolean {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const starts = /from '[./]*\/support\/(postgres|redis|cluster|workers|credit-race)\.ts'/.test(text)
  return starts || text.slice(0, text.indexOf('*/')).includes('Runs with `npm run test:servers`')
}

/** Files that run in one process. Those that take long, or need programs beside the gateway, gain nothing by sharing one. */
function fileGroups(choice: Choice): string[][] {
  const { long, clients, servers, recordings, agents, delivery, browser, modelServers, alone } = choice
  const each = long || clients || servers || recordings || agents || delivery || browser || modelServers || alone
  return new FileGroups(ROOT).of(chosenFiles(choice), (file) => each || needsServers(file))
}

function lastTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

function keepTimes(report: Report): void {
  mkdirSync(dirname(TIMES), { recursive: true })
  writeFileSync(TIMES, JSON.stringify({ ...lastTimes(), ...Object.fromEntries(report.times) }))
}

/** Longest first, so that none is left running alone at the end; those with new files before all of them. */
function longestFirst(groups: readonly string[][]): string[][] {
  const times = lastTimes()
  const totalTime = (files: string[]): number => files.reduce((sum, file) => sum + (times[file] ?? Number.POSITIVE_INFINITY), 0)
  const place = (files: string[]): number => (files.some((file) => LONGEST.includes(file)) ? 0 : 1)
  return groups.toSorted((a, b) => (totalTime(a) === totalTime(b) ? place(a) - place(b) : totalTime(b) - totalTime(a)))
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

async function environment(choice: Choice): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}` }
  // Each file is a process of its own that loads the same sources: compiled once, they take half the processor time of most files.
  env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules', '.cache', 'compile')
  // A few files take less time from the sources than the build does.
  if (choice.filters.length === 0) env.HEADGATE_TEST_LAUNCHER ??= await builtLauncher()
  if (choice.long) {
    env.HEADGATE_LONG = '1'
    env.HEADGATE_SEED ??= String(Date.now() % 2_147_483_647)
    console.log(`seed ${env.HEADGATE_SEED}, commit ${commit()}`)
  }
  return env
}

function choiceKind({ long, agents, delivery, browser, modelServers, recordings, clients }: Choice): keyof typeof FILE_SECONDS {
  if (modelServers) return 'models'
  if (long) return 'long'
  if (recordings) return 'recordings'
  if (clients) return 'clients'
  return agents || delivery ? 'install' : browser ? 'browser' : 'short'
}

interface Setting {
  report: Report
  seconds: number
  env: NodeJS.ProcessEnv
}

/** Runs files in a process of theirs, one after another. @returns those that did not begin, because one before them ended the process. */
function runFiles(files: readonly string[], { report, seconds, env }: Setting): Promise<string[]> {
  const list = { HEADGATE_TEST_FILES: JSON.stringify(files) }
  const [args, more] = files.length === 1 ? [files, {}] : [[ONE_PROCESS], list]
  const child = spawn(NODE, args, { cwd: ROOT, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  let expired: string | undefined
  let processor: number | undefined
  // The file itself fails the test that takes too long; this is for one that cannot even do that.
  let timer: NodeJS.Timeout | undefined
  const outputs = new FileOutputs(report, files, (last) => {
    clearTimeout(timer)
    const limit = last ? GRACE : seconds + GRACE
    timer = setTimeout(() => {
      expired = `${limit} s`
      child.kill('SIGKILL')
    }, limit * 1000)
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => outputs.write(text))
  return new Promise((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (!running.delete(child)) return
      const left = outputs.end({ code, signal, expired, processor })
      clearTimeout(timer)
      resolve(left)
    }
    // At once, since the next process that ends is counted together with it.
    child.on('exit', () => {
      processor = ofChildren() - counted
      counted += processor
    })
    child.on('error', () => end(127, null))
    child.on('close', end)
  })
}

/** Runs files that failed once more, alone. What ended badly behind its files has no file to run, and stays failed. */
async function runAgain(files: readonly string[], setting: Setting): Promise<void> {
  const failed = setting.report.failedFiles().filter((file) => files.includes(file))
  if (failed.length > MAX_AGAIN) return
  for (const file of failed) if (!stopped) await runFiles([file], setting)
}

async function run(choice: Choice): Promise<void> {
  const groups = longestFirst(fileGroups(choice))
  const report = new Report({ verbose: choice.filters.length > 0 })
  if (groups.length === 0) console.error('no test file matches')
  const seconds = FILE_SECONDS[choiceKind(choice)]
  const setting = { report, seconds, env: { ...(await environment(choice)), TAP_TIMEOUT: String(seconds) } }
  const next = groups.values()
  const work = async (): Promise<void> => {
    for (const files of next) for (let left = files; left.length > 0 && !stopped; ) left = await runFiles(left, setting)
  }
  await Promise.all(Array.from({ length: processCount(choice) }, work))
  if (choice.again && !stopped) await runAgain(groups.flat(), setting)
  process.exitCode = report.close()
  if (!stopped) keepTimes(report)
}

const running = new Set<ChildProcess>()
/** Milliseconds of the processor that the processes before the next that ends took. */
let counted = 0
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stopped = true
    for (const child of running) child.kill(signal)
  })

await run(parseChoice(process.argv.slice(2)))
