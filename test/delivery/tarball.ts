/** The packed tarball of a copy of the checkout, and what to do where it cannot be installed. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nameDigest } from './single-file.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CHECKOUT = ['bin', 'config', 'docs', 'plugins', 'src', 'scripts', 'web', 'README.md', 'LICENSE', 'CHANGELOG.md']
const PROJECTS = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.types.json']

const KEPT = join(ROOT, 'node_modules', '.cache', 'tarball')

export interface Packed {
  readonly file: string
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** A copy of what a clone has, as far as the program needs it. */
export function copyCheckout(folder: string): void {
  mkdirSync(folder)
  for (const name of [...CHECKOUT, ...PROJECTS]) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
}

/** The tarball, packed once for each state of the sources: a build takes most of a minute on a busy machine. */
export function packedOnce(): string {
  const folder = join(KEPT, nameDigest([...CHECKOUT, ...PROJECTS]))
  const file = join(folder, 'headgate.tgz')
  if (existsSync(file)) return file
  const work = mkdtempSync(join(tmpdir(), 'headgate-tarball-'))
  try {
    const packed = pack(join(work, 'checkout'))
    mkdirSync(folder, { recursive: true })
    cpSync(packed.file, `${file}.part-${process.pid}`)
    renameSync(`${file}.part-${process.pid}`, file)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  for (const name of readdirSync(KEPT)) if (join(KEPT, name) !== folder) rmSync(join(KEPT, name), { recursive: true, force: true })
  return file
}

/** Packs a copy of the checkout. */
export function pack(folder: string): Packed {
  copyCheckout(folder)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const printed = execFileSync('npm', ['pack', '--json', '--loglevel', 'error'], { cwd: folder, encoding: 'utf8' })
  const [packed] = JSON.parse(printed.slice(printed.indexOf('['))) as (Omit<Packed, 'file'> & { filename: string })[]
  if (!packed) throw new TypeError('nothing was packed')
  return { ...packed, file: join(folder, packed.filename) }
}

/** Reason for a failure where the registry cannot be reached, or says nothing; undefined where all is well. @throws any other failure. */
export function unreachable(install: () => unknown): string | undefined {
  try {
    install()
    return undefined
  } catch (failed) {
    const { code, stderr } = failed as { code?: string; stderr?: Buffer }
    const utterance = `${code ?? ''} ${String(stderr)}`
    if (/ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ECONNRESET|ECONNREFUSED/.test(utterance)) return utterance.slice(0, 300)
    throw new Error(utterance, { cause: failed })
  }
}
