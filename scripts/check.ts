/**
 * `npm run check`: types, lint and format, import rules, plain words, generated files.
 * Prints one line per step, and what a failing step said. Exit code 1 if any step fails.
 */
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'

const ROOT = dirname(import.meta.dirname)
const BIN = join(ROOT, 'node_modules', '.bin')

interface Step {
  name: string
  command: string
  args: string[]
}

const STEPS: readonly Step[] = [
  { name: 'types', command: join(BIN, 'tsc'), args: ['--project', ROOT] },
  { name: 'types of the tests', command: join(BIN, 'tsc'), args: ['--project', join(ROOT, 'test')] },
  { name: 'types of the control room', command: join(BIN, 'tsc'), args: ['--project', join(ROOT, 'web')] },
  { name: 'lint and format', command: join(BIN, 'biome'), args: ['check', '--error-on-warnings', '.'] },
  { name: 'import rules', command: process.execPath, args: [join(ROOT, 'test', 'repository', 'imports.test.ts')] },
  { name: 'plain words', command: process.execPath, args: [join(ROOT, 'scripts', 'plain-words.ts')] },
  { name: 'sentence starts', command: process.execPath, args: [join(ROOT, 'scripts', 'sentence-starts.ts')] },
  { name: 'references', command: process.execPath, args: [join(ROOT, 'scripts', 'references.ts')] },
  { name: 'generated files', command: process.execPath, args: [join(ROOT, 'scripts', 'generate.ts'), '--check'] },
]

interface Outcome {
  code: number
  output: string
  seconds: number
}

function run(step: Step): Promise<Outcome> {
  const started = performance.now()
  return new Promise((resolve) => {
    const child = spawn(step.command, step.args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}` },
    })
    const chunks: Buffer[] = []
    const end = (code: number): void => {
      resolve({ code, output: Buffer.concat(chunks).toString('utf8').trim(), seconds: (performance.now() - started) / 1000 })
    }
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', (error) => {
      chunks.push(Buffer.from(error.message))
      end(1)
    })
    child.on('close', (code) => end(code ?? 1))
  })
}

let failed = 0
for (const step of STEPS) {
  const { code, output, seconds } = await run(step)
  console.log(`${code === 0 ? 'ok    ' : 'failed'}  ${step.name}  ${seconds.toFixed(1)} s`)
  if (code === 0) continue
  failed++
  console.log(output)
}
process.exitCode = failed === 0 ? 0 : 1
