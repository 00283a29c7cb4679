/**
 * The check of sentences' beginnings in `npm run check` (docs/style.md): comments, and paragraphs of pages, that begin with "What", "Who"
 * and the like in place of a noun or a verb. The counts that stand in `sentence-starts.json` may only fall.
 * `--write` keeps the counts of today where their sum has not risen: files may move between folders. `--list FOLDER` prints the places.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const KEPT = join(import.meta.dirname, 'sentence-starts.json')
const FILES = ['src', 'plugins', 'test', 'web', 'bench', 'scripts', 'docs'].map((folder) => `${folder}/**/*.{ts,tsx,md}`)
/** Installed packages, environments and recordings of others. */
const LEFT_OUT = /node_modules|\/\.venv\/|\/\.build\/|test\/fixtures\//

const WORDS = '(?:What|Who|Whoever|Whose|Whether|How|Where)'
const COMMENT = new RegExp(`/\\*\\*\\s*(?:\\* )?(?=${WORDS}\\b)[^\\n]*`, 'g')
/** A question may begin so. */
const PARAGRAPH = new RegExp(`^(?:#+ |- |\\d+\\. |\\| )?${WORDS}\\b(?![^\\n]*\\?\\s*$).*`, 'gm')

export interface Place {
  readonly line: number
  readonly text: string
}

export function wrongStarts(path: string, text: string): Place[] {
  const pattern = path.endsWith('.md') ? PARAGRAPH : COMMENT
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ line: text.slice(0, index).split('\n').length, text: found.trim() }))
}

/** Folders of `src` are counted one by one, all others whole. */
export function countedFolder(path: string): string {
  return path
    .split('/')
    .slice(0, path.startsWith('src/') ? 2 : 1)
    .join('/')
}

/** @returns a line for each folder that has more than it had. */
export function risen(counts: ReadonlyMap<string, number>, kept: Readonly<Record<string, number>>): string[] {
  return [...counts]
    .filter(([folder, count]) => count > (kept[folder] ?? 0))
    .map(
      ([folder, count]) =>
        `${folder}: ${count} sentences begin with What, Who, Whose, Whether, How or Where, ${kept[folder] ?? 0} at most are allowed; ` +
        `begin with a noun or a verb (docs/style.md). \`node scripts/sentence-starts.ts --list ${folder}\` prints them`,
    )
}

if (import.meta.main) {
  const [option, wanted] = process.argv.slice(2)
  const counts = new Map<string, number>()
  for (const file of globSync(FILES, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') || path.endsWith('.build') }).sort()) {
    if (LEFT_OUT.test(file)) continue
    const places = wrongStarts(file, readFileSync(join(ROOT, file), 'utf8'))
    const folder = countedFolder(file)
    counts.set(folder, (counts.get(folder) ?? 0) + places.length)
    if (option === '--list' && file.startsWith(wanted ?? '')) for (const { line, text } of places) console.log(`${file}:${line}: ${text}`)
  }
  const kept: Record<string, number> = JSON.parse(readFileSync(KEPT, 'utf8'))
  if (option === '--write') {
    const total = (all: Iterable<number>): number => [...all].reduce((sum, count) => sum + count, 0)
    if (total(counts.values()) > total(Object.values(kept))) throw new Error('the counts may only fall')
    writeFileSync(KEPT, `${JSON.stringify(Object.fromEntries([...counts].filter(([, count]) => count > 0)), null, 2)}\n`)
  } else if (option === undefined) {
    for (const line of risen(counts, kept)) {
      console.log(line)
      process.exitCode = 1
    }
  }
}
