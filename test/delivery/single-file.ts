/** The single file as the tests of what is made from it need it: built once for each state of the sources, kept beside the packages. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { nodeForArm, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const KEPT = join(ROOT, 'node_modules', '.cache', 'single-file')
/** All that goes into it; `web` has the sources of the control room. */
const SOURCES = [
  'config',
  'docs',
  'plugins',
  'src',
  'scripts',
  'web',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
]
const MORE = ['tsconfig.types.json']

/**
 * @returns the folder that holds `headgate`, without symbols where `strip` is there, and `licences.txt`; where a Node for arm64 is at
 * hand, its folder `arm64` has those for it.
 */
export function singleFile(): string {
  const names = [...SOURCES, ...MORE].filter((name) => existsSync(join(ROOT, name)))
  const forArm = nodeForArm()
  const folder = join(KEPT, `${nameDigest(names)}${forArm === undefined ? '' : '-two'}`)
  if (existsSync(folder)) return folder
  const work = mkdtempSync(join(tmpdir(), 'headgate-build-'))
  try {
    for (const name of names) cpSync(join(ROOT, name), join(work, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(work, 'node_modules'))
    const stripForArm = tool('aarch64-linux-gnu-strip')
    const run = (script: string, args: readonly string[] = [], env = {}): Buffer =>
      execFileSync(process.execPath, [join('scripts', script), ...args], {
        cwd: work,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    mkdirSync(KEPT, { recursive: true })
    const part = `${folder}.part-${process.pid}`
    run('build.ts')
    run('build-single-file.ts', stripped() ? ['--strip'] : [])
    cpSync(join(work, 'dist', 'single-file'), part, { recursive: true })
    if (forArm !== undefined) {
      run('build-single-file.ts', ['--node', forArm, ...(stripForArm ? ['--strip'] : [])], { STRIP: stripForArm })
      cpSync(join(work, 'dist', 'single-file'), join(part, 'arm64'), { recursive: true })
    }
    // Another test may build it at the same time: what it has made stays, and of those from before nothing is in use.
    if (existsSync(folder)) rmSync(part, { recursive: true })
    else renameSync(part, folder)
    for (const name of readdirSync(KEPT)) if (!name.startsWith(basename(folder))) rmSync(join(KEPT, name), { recursive: true, force: true })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return folder
}

/** True if it is built without Node's symbols here. */
export function stripped(): boolean {
  try {
    execFileSync('strip', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Of the files of the checkout, by their paths and bytes, and of this Node. */
export function nameDigest(names: readonly string[]): string {
  const hash = createHash('sha256').update(process.version)
  for (const name of names) {
    const path = join(ROOT, name)
    const below = readdirSync(ROOT, { withFileTypes: true })
      .find((entry) => entry.name === name)
      ?.isDirectory()
    const files = below ? readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()) : []
    const paths = below ? files.map((entry) => join(entry.parentPath, entry.name)).sort() : [path]
    for (const file of paths) hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex').slice(0, 32)
}
