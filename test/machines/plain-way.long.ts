/** With `HEADGATE_MACHINES=off` libraries do what machines stand in for: the gateway answers the same. */
import { spawn } from 'node:child_process'
import t from 'tap'
import { ROOT } from '../repository/source-tree.ts'

/** Of each kind of work one: clients and streams, texts that are read, what is charged, forms of HTTP, and how answers end. */
const FILES = ['formats/sdk-chat', 'guardrails/guardrails', 'money/who-pays', 'formats/http-forms', 'streams/ends'].map(
  (name) => `test/gateway/${name}.test.ts`,
)

interface Ended {
  readonly code: number | null
  readonly output: string
}

function run(files: readonly string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['test/run.ts', ...files], {
      cwd: ROOT,
      env: { ...process.env, HEADGATE_MACHINES: 'off' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (piece) => {
      output += piece
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

t.test('the gateway answers the same without its machines', async (t) => {
  t.setTimeout(600_000)
  const { code, output } = await run(FILES)
  const [, passed = '0'] = /^(\d+) passed, 0 failed$/m.exec(output) ?? []
  t.ok(Number(passed) > 150, output)
  t.equal(code, 0)
})

t.test('the switch is off', (t) => {
  const script = "import('./src/machines/switch.ts').then(({ MACHINES_ON }) => process.exit(MACHINES_ON ? 1 : 0))"
  const child = spawn(process.execPath, ['-e', script], { cwd: ROOT, env: { ...process.env, HEADGATE_MACHINES: 'off' }, stdio: 'ignore' })
  child.on('close', (code) => {
    t.equal(code, 0)
    t.end()
  })
})
