/**
 * The check of references in `npm run check`: numbered statements of documents that are not in the repository are refused, and every
 * page and heading of `docs/` that a comment names exists. Prints `file:line: reference, and what to write`; exit code 1 if there are any.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { headingAnchors } from './heading-anchors.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = ['src', 'test', 'web', 'docs', 'bench', 'scripts', 'plugins', 'config', 'examples']
const FILES = [...FOLDERS.map((folder) => `${folder}/**/*.{ts,tsx,js,md,yaml,css}`), 'CHANGELOG.md', 'README.md', 'CONTRIBUTING.md']
/** Installed packages, environments and recordings of others, and the examples of tests of such checks. */
const LEFT_OUT = /node_modules|\/\.venv\/|\/\.build\/|test\/fixtures\/|test\/repository\/(?:references|sentence-starts)\.test\.ts/

const STATEMENT = 'write the statement itself, or link to its heading in docs/contract.md'
const REFUSED: readonly [pattern: RegExp, instead: string][] = [
  [/\bC-\d{3}\b/g, STATEMENT],
  [/\bcontract,? (?:sections? \d|§|\d\.\d)/gi, STATEMENT],
  [/\bthe contract's checklist\b/g, STATEMENT],
  // A number with the name of a public repository before it is a reference that a stranger can follow.
  [/(?<!\/[\w.-]+ )(?<!\b(?:boto3|litellm|aws-sdk-java-v2|spring-ai|dify) )\bissue \d+,? (?:sections?|lines?|§|"Done)/gi, STATEMENT],
  [/\(issue \d+\b/gi, STATEMENT],
  [/(?<=\btest\([^\n]*['"`])[A-Z]\d{2}(?: [A-Z]\d{2})*[:,]/g, 'name the test by what it proves'],
]
/** Pages of other repositories, which sources cite. */
const PAGES_OF_OTHERS: ReadonlySet<string> = new Set([
  'docs/api.md',
  'docs/api/openai-compatibility.md',
  'docs/gateway/configuration-reference.md',
  'docs/gguf.md',
  'docs/mfjs-spec.md',
  'docs/models.md',
  'docs/settings.md',
  'docs/walle.md',
])
const PAGE = /(?<![\w/.-])docs\/[\w/-]+\.md(?:#([\w-]+))?/g

export interface Reference {
  readonly line: number
  readonly found: string
  readonly instead: string
}

/** @param page the text of a page of `docs/`; undefined where there is none. */
export function badReferences(text: string, page: (path: string) => string | undefined): Reference[] {
  const bad: Reference[] = []
  for (const [at, line] of text.split('\n').entries()) {
    for (const [pattern, instead] of REFUSED) for (const [found] of line.matchAll(pattern)) bad.push({ line: at + 1, found, instead })
    for (const [found, anchor] of line.matchAll(PAGE)) {
      const path = found.replace(/#.*/, '')
      if (PAGES_OF_OTHERS.has(path)) continue
      const target = page(path)
      if (target === undefined) bad.push({ line: at + 1, found, instead: 'name a page that exists' })
      else if (anchor !== undefined && !headingAnchors(target).includes(anchor))
        bad.push({ line: at + 1, found, instead: 'name a heading of that page' })
    }
  }
  return bad
}

if (import.meta.main) {
  let count = 0
  const page = (path: string): string | undefined => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : undefined)
  for (const file of globSync(FILES, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') || path.endsWith('.build') }).sort()) {
    if (LEFT_OUT.test(file)) continue
    for (const { line, found, instead } of badReferences(readFileSync(join(ROOT, file), 'utf8'), page)) {
      count++
      console.log(`${file}:${line}: ${found}; ${instead}`)
    }
  }
  process.exitCode = count === 0 ? 0 : 1
}
