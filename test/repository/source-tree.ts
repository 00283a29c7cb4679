/** The files of the program, as the repository tests see them. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const ROOT = dirname(dirname(import.meta.dirname))

export interface SourceFile {
  /** From the repository's root, with slashes. */
  path: string
  text: string
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Paths that match, from the root, sorted. */
export function paths(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
}

const filesAt = (...patterns: string[]): SourceFile[] => paths(...patterns).map((path) => ({ path, text: read(path) }))

/** Every TypeScript file of src and plugins. */
export const programFiles = (): SourceFile[] => filesAt('src/**/*.ts', 'plugins/**/*.ts')

/** Every file that may not import itself by way of others: those of the program, of the control room and of the benches. */
export const filesWithoutCircles = (): SourceFile[] => [...programFiles(), ...filesAt('web/**/*.{ts,tsx}', 'bench/**/*.ts')]
