/**
 * Finds the files of a change: `npm run where -- WORDS`, such as `npm run where -- retry after header of a 429`. First the rows of "Where
 * to begin" in CONTRIBUTING.md that speak of it, then files, the best first, each with the sentence that it begins with and the sentences
 * inside it that have the words. `--all` prints forty in place of twelve.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch, { type SearchResult } from 'minisearch'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['src/**/*.ts', 'plugins/**/*.ts', 'web/**/*.{ts,tsx}', 'config/**/*.yaml', 'scripts/**/*.ts']
const MAX_ROWS = 3
const MAX_FILES = 12
const MAX_SENTENCES = 2

/** Words that say nothing of a place. */
const EMPTY = new Set(
  'a an and are as at be by for from how in into is it its of on or that the their this to what when which with'.split(' '),
)

interface Source {
  readonly path: string
  /** The words of its folders and name. */
  readonly name: string
  /** The comment that it begins with. */
  readonly heading: string
  /** All its other comments, a line each. */
  readonly comments: readonly string[]
  /** Names that it declares, and its texts. */
  readonly code: string
}

const DOC_COMMENT = /\/\*\*([\s\S]*?)\*\//g
const DECLARED = /\b(?:function|class|interface|type|const|enum)\s+([A-Za-z_$][\w$]*)/g
const TEXT = /'((?:[^'\\\n]|\\.){3,})'|"((?:[^"\\\n]|\\.){3,})"|`([^`]{3,}?)`/g

/** Reads one file of the program. */
export function readSource(path: string, text: string): Source {
  const comments = [...text.matchAll(DOC_COMMENT)].map(([, inner = '']) =>
    inner
      .replace(/\n\s*\*/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )
  if (path.endsWith('.yaml')) comments.push(...[...text.matchAll(/^#\s*(.*)$/gm)].map(([, line = '']) => line))
  const declared = [...text.matchAll(DECLARED)].map(([, name = '']) => name)
  const texts = [...text.matchAll(TEXT)].map(([, single, double, template]) => single ?? double ?? template ?? '')
  return {
    path,
    name: path.replace(/\.\w+$/, ''),
    heading: comments[0] ?? '',
    comments: comments.slice(1),
    code: `${declared.join(' ')} ${texts.join(' ')}`,
  }
}

/** `retryAfter`, `retry-after` and `retry_after` are two words each; endings of plurals and verbs do not count. */
function words(text: string): string[] {
  const parts = text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  return parts ?? []
}

function stem(word: string): string | null {
  if (EMPTY.has(word)) return null
  if (word.length < 5) return word
  return word.replace(/(?:ies|y)$/, 'i').replace(/(?:ings?|ed|es|s|e)$/, '')
}

/** Rows of the table "Where to begin", as they stand. */
export function contributingRows(text: string): string[] {
  const section = text.split('\n## Where to begin\n')[1]?.split('\n## ')[0] ?? ''
  return section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith('| To change'))
}

const OPTIONS = { tokenize: words, processTerm: stem, searchOptions: { tokenize: words, processTerm: stem } }

/** The files that fit a query, the best first. */
export function searchSources(sources: readonly Source[], query: string): SearchResult[] {
  const search = new MiniSearch<Source>({
    ...OPTIONS,
    idField: 'path',
    fields: ['name', 'heading', 'comments', 'code'],
    extractField: (source, field) => (field === 'comments' ? source.comments.join(' ') : source[field as 'path']),
  })
  search.addAll(sources)
  return search.search(query, { boost: { name: 3, heading: 4, comments: 1.5, code: 0.7 } })
}

/** The rows that fit a query, the best first. */
export function searchRows(rows: readonly string[], query: string): string[] {
  const search = new MiniSearch<{ id: number; change: string; row: string }>({ ...OPTIONS, fields: ['change', 'row'] })
  search.addAll(rows.map((row, id) => ({ id, change: row.split('|')[1] ?? '', row })))
  return search.search(query, { boost: { change: 2 } }).flatMap(({ id }) => rows[id] ?? [])
}

function sentencesWith(source: Source, terms: ReadonlySet<string>): string[] {
  const scored = source.comments.map((comment) => ({
    comment,
    score: new Set(
      words(comment)
        .flatMap((word) => stem(word) ?? [])
        .filter((term) => terms.has(term)),
    ).size,
  }))
  return scored
    .filter(({ score }) => score > 1)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_SENTENCES)
    .map(({ comment }) => shortened(comment, 160))
}

const shortened = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text)

if (import.meta.main) {
  const given = process.argv.slice(2)
  const query = given.filter((word) => word !== '--all').join(' ')
  if (!query) {
    console.error('usage: npm run where -- WORDS, such as: npm run where -- retry after header of a 429')
    process.exit(2)
  }
  const rows = contributingRows(readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8'))
  for (const row of searchRows(rows, query).slice(0, MAX_ROWS)) console.log(`${row}\n`)
  const paths = globSync(SOURCES, { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  const sources = new Map(paths.map((path) => [path, readSource(path, readFileSync(join(ROOT, path), 'utf8'))]))
  const terms = new Set(words(query).flatMap((word) => stem(word) ?? []))
  for (const { id } of searchSources([...sources.values()], query).slice(0, given.includes('--all') ? 40 : MAX_FILES)) {
    const source = sources.get(id)
    if (!source) continue
    console.log(`${source.path}: ${shortened(source.heading, 240)}`)
    for (const sentence of sentencesWith(source, terms)) console.log(`    ${sentence}`)
  }
}
