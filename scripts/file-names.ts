/** The list of CONTRIBUTING.md in which a file is found by its name: the names of each folder of the program. */
import { globSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['src/**/*.ts', 'plugins/**/*.ts', 'web/**/*.{ts,tsx}']

/** A line a folder, names without their ending. Pages of the control room end in `.tsx`, all else in `.ts`. */
export function fileNamesMarkdown(): string {
  const files = globSync(SOURCES, { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  const folders = Map.groupBy(files.sort(), (path) => dirname(path))
  const lines = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, files]) => `- \`${folder}/\`: ${names(files)}`)
  return lines.join('\n')
}

/** `index` says nothing of its folder. */
const names = (files: readonly string[]): string =>
  files
    .map((file) => parse(file).name)
    .filter((name) => name !== 'index')
    .join(', ')
