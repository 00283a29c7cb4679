/**
 * Several test files in one process, one after another, because most files take less time than the sources take to load.
 * `node test/support/one-process.ts` runs the files of HEADGATE_TEST_FILES, a list in JSON. Each file gets, where it imports
 * `tap`, a root test of its own, so its hooks and time limit end with it; its output stands between two marked lines.
 */
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { Test } from 'tap'
import { MARK } from './file-outputs.ts'
import { ofAll } from './processor-time.ts'

const ROOT = dirname(dirname(import.meta.dirname))
const TAP = pathToFileURL(join(import.meta.dirname, 'file-tap.ts')).href
const tests = new Map<string, Test>()

/** The root test of a file, by the address from which `file-tap.ts` was loaded for it. */
export function rootTest(url: string): Test {
  const test = tests.get(new URL(url).search)
  if (!test) throw new Error(`no test file has ${url}`)
  return test
}

function giveRootTests(files: readonly string[]): void {
  const importers = new Map(files.map((file) => [pathToFileURL(join(ROOT, file)).href, `?${file}`]))
  registerHooks({
    resolve: (specifier, context, next) => {
      const search = specifier === 'tap' ? importers.get(context.parentURL ?? '') : undefined
      return search === undefined ? next(specifier, context) : next(`${TAP}${search}`, context)
    },
  })
}

/** Milliseconds of the processor that the files before this one took. */
let counted = 0

/** True once a file had to be given up. */
let timedOut = false

class RootTest extends Test {
  // tap marks only the test inside it that ran.
  override timeout(options?: Parameters<Test['timeout']>[0]): void {
    timedOut = true
    super.timeout(options)
  }
}

function startRootTest(file: string): Test {
  const test = new RootTest({
    name: 'TAP',
    timeout: Number(process.env.TAP_TIMEOUT) * 1000,
    // As tap names it where the file is the program.
    testdir: join(ROOT, '.tap', 'fixtures', file.replaceAll('/', '-')),
    cb: async () => void (await import(pathToFileURL(join(ROOT, file)).href)),
  })
  tests.set(`?${file}`, test)
  return test
}

function runFile(file: string): Promise<void> {
  const test = startRootTest(file)
  process.stdout.write(`\n${MARK}begins ${file}\n`)
  test.on('data', (text) => process.stdout.write(String(text)))
  return new Promise((resolve) => {
    test.runMain(() => {
      test.setTimeout(0)
      const all = ofAll()
      process.stdout.write(`\n${MARK}ends ${file} ${all - counted}\n`)
      counted = all
      resolve()
    })
  })
}

async function run(files: readonly string[]): Promise<void> {
  giveRootTests(files)
  // The root test of the process has no part in this, and its time limit would be that of all files together.
  t.setTimeout(0)
  // A test that waits for what never comes leaves the process nothing to do: it fails, and the next file runs.
  process.on('beforeExit', () => [...tests.values()].at(-1)?.endAll())
  for (const file of files) {
    await runFile(file)
    // What it still does would disturb the next one, which gets a new process.
    if (timedOut) process.exit(0)
  }
}

// Not awaited at the top: `file-tap.ts` imports this module, which has to be complete before a file runs.
void run(JSON.parse(process.env.HEADGATE_TEST_FILES ?? '[]') as string[])
