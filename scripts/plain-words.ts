/**
 * The plain-English check of `npm run check`: words that the project does not use, in names, comments, messages and documents.
 * Prints `file:line: word, and what to write`; exit code 1 if there are any. An honest use is listed here with its line.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FILES = ['src/**/*.{ts,md}', 'plugins/**/*.{ts,md}', 'docs/**/*.md', 'README.md', 'CONTRIBUTING.md']

/** Words, also as a part of a name in camelCase, with what to write in their place. */
export const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    told: 'name what is returned, reported, shown or set, and by which part',
    tells: 'returns, reports, shows, states',
    asked: 'requested, wanted, called',
    whoever: 'name the caller, the client or the part',
    nobody: 'no caller, no client, no part',
    foretell: 'preview',
    foresee: 'preview',
    steadfast: 'name the behaviour',
    door: 'client connection, listener, entry point',
    books: 'ledger, cost record',
    trial: 'attempt',
    seal: 'signature, encrypted reasoning',
    seals: 'signatures, encrypted reasoning',
    sealed: 'encrypted',
  }),
)
const PHRASES: Readonly<Record<string, string>> = {
  'of its own affair': 'name what it depends on',
  'said text': 'redaction buffer',
  'handed-in': 'forwarded',
  'handing in': 'forwarding',
}

/** Lines in which such a word is meant as it stands, by file; a part of the line is enough. */
export const HONEST: Readonly<Record<string, readonly string[]>> = {
  // Stories of the simulator, words of users, and what attacks say.
  'src/dialects/sim/script.ts': ['An old sailor told', 'Nobody'],
  'plugins/auto-router/vocabulary.ts': ['nobody everybody'],
  'src/guardrails/injection/english.ts': ['told'],
  // The account of that name on every Linux.
  'src/services/sandbox/argv.ts': ['nobody', 'NOBODY'],
  'src/services/sandbox/folders.ts': ['NOBODY'],
  // A person.
  'src/tools/mcp/session.ts': ['the user is asked'],
}

export interface Finding {
  line: number
  word: string
  instead: string
}

/** @param honest parts of lines that may stand. */
export function plainWordFindings(text: string, honest: readonly string[] = []): Finding[] {
  const found: Finding[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (honest.some((part) => line.includes(part))) continue
    for (const [word] of line.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)) {
      const instead = WORDS.get(word.toLowerCase())
      if (instead !== undefined) found.push({ line: at + 1, word, instead })
    }
    for (const [phrase, instead] of Object.entries(PHRASES)) {
      if (line.toLowerCase().includes(phrase)) found.push({ line: at + 1, word: phrase, instead })
    }
  }
  return found
}

if (import.meta.main) {
  let count = 0
  for (const file of globSync(FILES, { cwd: ROOT }).sort()) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const { line, word, instead } of plainWordFindings(text, HONEST[file])) {
      count++
      console.log(`${file}:${line}: ${word}; write ${instead}`)
    }
  }
  process.exitCode = count === 0 ? 0 : 1
}
