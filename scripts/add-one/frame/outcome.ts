/** Counts of each kind by the last run of `scripts/add-one.ts`: a file of JSON beside the kind's own, from which CONTRIBUTING.md is made. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { markdownTable } from '../../markdown-table.ts'
import type { Addition } from './addition.ts'

const FOLDER = join(import.meta.dirname, '..')

export interface Outcome {
  /** Files written by hand, and those that commands have written after it. */
  readonly byHand: readonly string[]
  readonly generated: readonly string[]
}

/** The additions of all kinds, by name. */
export async function allAdditions(): Promise<Addition[]> {
  const files = globSync('*.ts', { cwd: FOLDER }).sort()
  return Promise.all(
    files.map(async (file) => {
      const { addition } = (await import(pathToFileURL(join(FOLDER, file)).href)) as { addition: Addition }
      if (addition.name !== basename(file, '.ts')) throw new Error(`scripts/add-one/${file} is named ${addition.name}`)
      return addition
    }),
  )
}

const outcomePath = (name: string): string => join(FOLDER, `${name}.json`)

const keptOutcome = (name: string): Outcome => JSON.parse(readFileSync(outcomePath(name), 'utf8')) as Outcome

/** A list of one name a line changes where its files do. */
export function keepOutcome(name: string, { byHand, generated }: Outcome): void {
  writeFileSync(outcomePath(name), `${JSON.stringify({ byHand, generated }, null, 2)}\n`)
}

/** True where the kept outcome is this one. */
export function isKept(name: string, outcome: Outcome): boolean {
  return existsSync(outcomePath(name)) && isDeepStrictEqual(keptOutcome(name), outcome)
}

/** The rows of CONTRIBUTING.md that the script has tried. */
export async function additionsMarkdown(): Promise<string> {
  const tried = (await allAdditions()).filter(({ name }) => existsSync(outcomePath(name)))
  const rows = tried.map(({ name, change, recipe }) => {
    const { byHand, generated } = keptOutcome(name)
    const written = generated.length === 0 ? '' : generated.map((file) => `\`${file}\``).join(', ')
    return [change, `${byHand.length}`, recipe, written]
  })
  return markdownTable(['Change', 'Files', 'Which', 'Written by `npm run generate`'], rows)
}
