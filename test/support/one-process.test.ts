/** Several test files in one process: each with its own hooks, output and counts; one that ends the process is named. */
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { FileGroups } from './file-groups.ts'
import { FileOutputs } from './file-outputs.ts'
import { Report } from './report.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Writes test files, which get the sources below. @returns their paths from the root. */
function written(t: Test, sources: Record<string, string>): string[] {
  const folder = t.testdirName
  mkdirSync(folder, { recursive: true })
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return Object.entries(sources).map(([name, source]) => {
    const path = join(folder, `${name}.test.ts`)
    writeFileSync(path, `import t from 'tap'\n${source}`)
    return relative(ROOT, path)
  })
}

/** Runs them in one process. @returns what the report shows, and the files that did not begin. */
async function ran(files: readonly string[], seconds = 60): Promise<{ lines: string[]; left: string[]; turns: boolean[] }> {
  const lines: string[] = []
  const turns: boolean[] = []
  const report = new Report({ out: (line) => lines.push(line) })
  const outputs = new FileOutputs(report, files, (last) => turns.push(last))
  const env = { ...process.env, TAP_TIMEOUT: String(seconds), HEADGATE_TEST_FILES: JSON.stringify(files) }
  const child = spawn(process.execPath, [join('test', 'support', 'one-process.ts')], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => outputs.write(text))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const left = outputs.end({ code })
  report.close()
  return { lines, left, turns }
}

t.test('each file has a root test of its own', async (t) => {
  const files = written(t, {
    a: `
      let before = 0
      t.beforeEach(() => void before++)
      t.teardown(() => console.log('a is over'))
      t.test('first', async (t) => t.equal(before, 1))
      await t.test('second', async (t) => t.match(t.testdir(), /a\\.test\\.ts-second$/))
      t.equal(before, 2)
    `,
    b: `t.test('third', async (t) => { t.ok(true); t.equal(1, 2, 'not the same') })`,
    c: `t.equal(t.passing(), true, 'what failed before it is not its own')`,
  })
  const { lines, left, turns } = await ran(files)
  const text = lines.join('\n')
  t.same(left, [])
  t.match(lines, [`ok      ${files[0]}  3`], 'its counts')
  t.match(text, `not ok  ${files[1]}  1, 1 failed\nnot ok  ${files[1]} > third > not the same`)
  t.match(text, `    in one process after ${files[0]}`)
  t.match(text, `ok      ${files[2]}  1`)
  t.equal(lines.at(-1), '5 passed, 1 failed')
  t.same(turns, [false, false, false, true], 'time begins anew with each file, and after the last')
})

t.test('a file that ends the process is named, and those behind it have not begun', async (t) => {
  const files = written(t, {
    a: `t.ok(true)`,
    b: `t.test('crash', async (t) => { t.ok(true); process.exit(3) })`,
    c: `t.ok(true)`,
  })
  const { lines, left } = await ran(files)
  t.same(left, [files[2]])
  t.match(lines.join('\n'), new RegExp(`not ok {2}${files[1]}\n {4}the file exited with code 3\n {4}in one process after ${files[0]}`))
})

t.test('a file that does not load fails, as does one without a test', async (t) => {
  const { lines, left } = await ran(written(t, { a: `import './missing.ts'`, b: ``, c: `t.ok(true)` }))
  t.same(left, [])
  const text = lines.join('\n')
  t.match(text, /a\.test\.ts {2}0, 1 failed/)
  t.match(text, /missing\.ts/, 'what it did not find')
  t.match(text, /b\.test\.ts {2}0, 1 failed\n.*no tests in this file/)
  t.equal(lines.at(-1), '1 passed, 2 failed')
})

t.test('a test that waits for what never comes fails, and the next file runs', async (t) => {
  const files = written(t, { a: `t.test('waits', () => new Promise(() => undefined))`, b: `t.ok(true)` })
  const { lines, left } = await ran(files)
  t.same(left, [])
  t.match(lines.join('\n'), `not ok  ${files[0]} > waits`)
  t.equal(lines.at(-1)?.split(', ')[0], '1 passed')
})

t.test('a file that takes too long fails, and those behind it get another process', async (t) => {
  const late = `t.test('late', () => new Promise((resolve) => setTimeout(resolve, 600_000)))`
  const files = written(t, { a: late, b: `t.ok(true)` })
  const { lines, left } = await ran(files, 1)
  t.same(left, [files[1]])
  t.match(lines.join('\n'), new RegExp(`not ok {2}${files[0]} .*timeout!(.|\\n)*timed out`))
  t.equal(lines.at(-1)?.split(', ')[0], '0 passed')
})

t.test('the time limit is that of each file, not of all together', async (t) => {
  const files = written(t, { a: `import root from './root.ts'\nt.same([t === root, root.options.timeout], [false, undefined])` })
  writeFileSync(join(ROOT, dirname(files[0]), 'root.ts'), `export { default } from 'tap'`)
  const [first] = written(t, { b: `globalThis.first = t\nt.ok(t.timer)` })
  const [second] = written(t, { c: `t.equal(globalThis.first.timer, undefined, 'the limit of a file ends with it')` })
  const { lines } = await ran([...files, first, second])
  t.equal(lines.at(-1), '3 passed, 0 failed', lines.join('\n'))
})

t.test('an error after the last file fails the process', async (t) => {
  const files = written(t, { a: `t.ok(true)`, b: `t.ok(true)\nprocess.on('exit', () => { process.exitCode = 4 })` })
  const { lines } = await ran(files)
  t.match(lines.join('\n'), `not ok  the process of ${files.join(', ')}\n    the file exited with code 4`)
})

t.test('marked lines are found however the output is cut', async (t) => {
  const tap = 'TAP version 14\nok 1 - one\n1..1\n'
  const whole = ['a', 'b'].map((name) => `\n# headgate test file begins ${name}\n${tap}\n# headgate test file ends ${name} 20\n`).join('')
  for (const size of [1, 7, 1000]) {
    const lines: string[] = []
    const outputs = new FileOutputs(new Report({ out: (line) => lines.push(line) }), ['a', 'b'], () => undefined)
    for (let at = 0; at < whole.length; at += size) outputs.write(whole.slice(at, at + size))
    t.same(outputs.end({ code: 0 }), [])
    t.same(lines, ['ok      a  1', 'ok      b  1'], `${size} characters at once`)
  }
})

t.test('what changes or measures the process runs alone, be it in what a file imports', async (t) => {
  const root = t.testdir()
  mkdirSync(join(root, 'test', 'support'), { recursive: true })
  const files = Object.entries({
    a: `t.ok(true)`,
    b: `process.env.NAME = 'x'`,
    c: `import { far } from './support/far.ts'\nimport { near } from './c.ts'`,
    d: `import t, {\n  type Test,\n} from 'tap'\nconst { env } = process`,
    e: `t.ok(process.memoryUsage().rss < 1)`,
    f: `t.ok(true)`,
  }).map(([name, source]) => {
    const file = `test/${name}.test.ts`
    writeFileSync(join(root, file), source)
    return file
  })
  writeFileSync(join(root, 'test', 'support', 'far.ts'), `setFlagsFromString('--expose-gc')`)
  const [a, b, c, d, e, f] = files
  t.same(
    new FileGroups(root).of(files, (file) => file === f),
    [[b], [c], [e], [f], [a, d]],
  )
  const many = Array.from({ length: 12 }, (_, index) => `test/missing-${index}.test.ts`)
  t.same(
    new FileGroups(root).of(many, () => false),
    [many.slice(0, 10), many.slice(10)],
    'ten in a process',
  )
})
