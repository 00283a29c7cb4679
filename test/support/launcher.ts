/**
 * The program that tests start as a process of its own. A run of all tests builds it once, as it is delivered: from its few files it starts
 * in less than half the processor time that it takes from a thousand sources, and the tests start it a thousand times.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
/** Place of the packages that the built program loads from beside it. */
const KEPT = join(ROOT, 'node_modules', '.cache', 'program')
/** Milliseconds after which one of other sources is removed. */
const OLD = 3_600_000
/** All that the built program is made of. */
const MADE_OF = [
  'bin/*',
  'src/**/*.*',
  'plugins/**/*.*',
  'config/**/*.*',
  'web/**/*.*',
  'scripts/build-*.ts',
  'test/support/launcher.ts',
  'package.json',
  'package-lock.json',
]

/** Of the checkout: it runs the sources. */
export const CHECKOUT_LAUNCHER = join(ROOT, 'bin', 'headgate.js')

/** Of the built program where a run of all tests has built it, of the checkout where a file runs by itself. */
export const LAUNCHER = process.env.HEADGATE_TEST_LAUNCHER ?? CHECKOUT_LAUNCHER

/** @returns the launcher of the program that the sources make now; builds it where they have changed. */
export async function builtLauncher(): Promise<string> {
  const folder = join(KEPT, fingerprint())
  const launcher = join(folder, 'bin', 'headgate.js')
  if (existsSync(launcher)) return launcher
  removeOld()
  // Named at the end: another run at the same time takes nothing that is half made.
  const draft = `${folder}.${process.pid}`
  const [{ buildProgram }, { buildWeb }] = await Promise.all([
    import('../../scripts/build-program.ts'),
    import('../../scripts/build-web.ts'),
  ])
  await buildProgram(join(draft, 'dist'))
  await buildWeb(join(draft, 'dist', 'web'))
  mkdirSync(join(draft, 'bin'))
  cpSync(CHECKOUT_LAUNCHER, join(draft, 'bin', 'headgate.js'))
  // `headgate manual` prints them.
  symlinkSync(join(ROOT, 'docs'), join(draft, 'docs'))
  try {
    renameSync(draft, folder)
  } catch {
    // Another run was first.
    rmSync(draft, { recursive: true, force: true })
  }
  // As after an install: the first start fills the cache of compiled code.
  spawnSync(process.execPath, [launcher, 'serve', '--version'], { stdio: 'ignore' })
  return launcher
}

/** Another run of this checkout may still use one that is not old. */
function removeOld(): void {
  const folders = existsSync(KEPT) ? readdirSync(KEPT).map((name) => join(KEPT, name)) : []
  for (const folder of folders) if (Date.now() - statSync(folder).mtimeMs > OLD) rmSync(folder, { recursive: true, force: true })
}

function fingerprint(): string {
  const hash = createHash('sha256')
  for (const path of globSync(MADE_OF, { cwd: ROOT }).sort())
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}
