/** The packed tarball of a copy of the checkout, and what to do where it cannot be installed. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const CHECKOUT = ['bin', 'config', 'plugins', 'src', 'scripts', 'README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'package-lock.json']
const PROJECTS = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.types.json']

export interface Packed {
  readonly file: string
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** Packs a copy of the checkout. */
export function pack(folder: string): Packed {
  mkdirSync(folder)
  for (const name of [...CHECKOUT, ...PROJECTS]) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const printed = execFileSync('npm', ['pack', '--json', '--loglevel', 'error'], { cwd: folder, encoding: 'utf8' })
  const [packed] = JSON.parse(printed.slice(printed.indexOf('['))) as (Omit<Packed, 'file'> & { filename: string })[]
  if (!packed) throw new TypeError('nothing was packed')
  return { ...packed, file: join(folder, packed.filename) }
}

/** What is wrong where the registry cannot be reached, or says nothing; undefined where all is well. @throws any other failure. */
export function unreachable(install: () => unknown): string | undefined {
  try {
    install()
    return undefined
  } catch (failed) {
    const { code, stderr } = failed as { code?: string; stderr?: Buffer }
    const said = `${code ?? ''} ${String(stderr)}`
    if (/ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ECONNRESET|ECONNREFUSED/.test(said)) return said.slice(0, 300)
    throw new Error(said, { cause: failed })
  }
}
