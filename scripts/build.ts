/**
 * Builds what the npm package holds: `npm run build`, which `npm pack` runs first.
 * `dist/` gets the program in a few files of JavaScript with source maps (`build-program.ts`), the control room (`dist/web/`), the types of `headgate/plugin-api`, and the files that the program reads at run time.
 * Beside them stand the bill of materials (`sbom.cdx.json`) and the licence notices (`THIRD_PARTY_NOTICES`) of what is installed with it.
 * `--pack` also writes `npm-shrinkwrap.json`, the exact version and hash of everything that is installed with the package; npm reads it
 * from a package and takes it for the lock file of a checkout (docs.npmjs.com, npm-shrinkwrap.json). And it takes the scripts of a clone
 * out of `package.json`: npm warns of `prepare` wherever a tarball that has it is installed. `--unpack`, which `npm pack` runs at its end,
 * undoes both.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildProgram } from './build-program.ts'
import { buildWeb } from './build-web.ts'
import { billOfMaterials, type LockFile, licenceNotices } from './inventory.ts'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')

interface Lock {
  readonly packages: Record<string, { dev?: boolean; devDependencies?: unknown }>
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as T
}

function write(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** The lock file without what only a checkout needs. */
function productionLock(): Lock {
  const lock = read<Lock>('package-lock.json')
  const kept = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true)
  return { ...lock, packages: Object.fromEntries(kept.map(([path, { devDependencies: _, ...entry }]) => [path, entry])) }
}

async function build(): Promise<void> {
  rmSync(DIST, { recursive: true, force: true })
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'tsconfig.types.json')], { stdio: 'inherit' })
  await buildProgram(DIST)
  const lock = read<LockFile>('package-lock.json')
  const { license = '' } = read<Record<string, string>>('package.json')
  write(join(DIST, 'sbom.cdx.json'), billOfMaterials(lock, license))
  writeFileSync(join(DIST, 'THIRD_PARTY_NOTICES'), licenceNotices(lock, ROOT))
}

/** Place of the clone's `package.json` while npm packs. */
const KEPT = join(ROOT, 'clone-package.json')
const MANIFEST = join(ROOT, 'package.json')
const SHRINKWRAP = join(ROOT, 'npm-shrinkwrap.json')

function toPack(): void {
  write(SHRINKWRAP, productionLock())
  const { scripts: _, ...packed } = read<Record<string, unknown>>('package.json')
  cpSync(MANIFEST, KEPT)
  write(MANIFEST, packed)
}

function unpack(): void {
  rmSync(SHRINKWRAP, { force: true })
  if (existsSync(KEPT)) renameSync(KEPT, MANIFEST)
}

if (process.argv.includes('--unpack')) unpack()
else {
  await build()
  await buildWeb(join(DIST, 'web'))
  if (process.argv.includes('--pack')) toPack()
}
