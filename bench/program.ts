/** The program as it is delivered, built once per run: its memory and its start differ from those of the sources, which load a thousand files. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildProgram } from '../scripts/build-program.ts'

const ROOT = join(import.meta.dirname, '..')

let building: Promise<string> | undefined

/** @returns the launcher of the built program. */
export function builtLauncher(): Promise<string> {
  building ??= build()
  return building
}

/**
 * The program of another checkout as it is delivered, in a folder of this one, whose packages it loads: the other one stays as it is.
 * @returns its launcher.
 */
export function buildLauncher(checkout: string): string {
  const folder = join(ROOT, 'dist', `bench-other-${process.pid}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [builder, into] = [join(checkout, 'scripts', 'build-program.ts'), join(folder, 'dist')].map((path) => JSON.stringify(path))
  const program = `const { buildProgram } = await import(${builder}); await buildProgram(${into})`
  execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: checkout, stdio: 'inherit' })
  const launcher = join(folder, 'bin', 'headgate.js')
  cpSync(join(checkout, 'bin', 'headgate.js'), launcher)
  spawnSync(process.execPath, [launcher, 'serve', '--version'], { stdio: 'ignore' })
  return launcher
}

/** In the checkout, whose packages it loads; a folder of its own, so that two runs do not disturb each other. */
async function build(): Promise<string> {
  const folder = join(ROOT, 'dist', `bench-${process.pid}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const launcher = join(folder, 'bin', 'headgate.js')
  cpSync(join(ROOT, 'bin', 'headgate.js'), launcher)
  await buildProgram(join(folder, 'dist'))
  // As after an install: the first start fills the cache of compiled code.
  spawnSync(process.execPath, [launcher, 'serve', '--version'], { stdio: 'ignore' })
  return launcher
}
