/**
 * The plain-English check of `npm run check`: words that the project does not use, in names, comments, messages and documents.
 * Prints `file:line: word, and what to write`; exit code 1 if there are any. An honest use is listed here with its line.
 * Tests, benches and scripts may have the words of `WORDS` as often as `plain-words.json` says, and only less often: `--write` keeps the
 * counts of today. The words of `OWN_WORDS`, and names that end in `Of`, are refused everywhere.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const KEPT = join(import.meta.dirname, 'plain-words.json')
const FILES = [
  'src/**/*.{ts,md}',
  'plugins/**/*.{ts,md}',
  'web/**/*.{ts,tsx}',
  'docs/**/*.md',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
]
const COUNTED = ['test', 'bench', 'scripts']
/** Installed packages, recordings of others, results of agents, and the lists of this check. */
const LEFT_OUT = /node_modules|\/\.venv\/|\/\.build\/|test\/fixtures\/|\/results\/|plain-words/

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
/** Words of this project's own in place of the field's. */
const OWN_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    oops: 'report unexpected',
    witness: 'recorder',
    desk: 'server, client, handler or settings',
    crew: 'worker pool',
    glance: 'screen, prefilter',
    wish: 'demand, preference',
    wishes: 'demands, preferences',
    parcel: 'message',
    parcels: 'messages',
    patiently: 'with retries, until a deadline',
    impatience: 'timer, time-out',
    patience: 'duration, deadline',
    tallies: 'metrics',
    viable: 'partial match, valid',
    urge: 'wake',
    urges: 'wakes',
    urged: 'woken',
    quietly: 'without a report, without an error',
    trail: 'history; an audit trail is one',
  }),
)
/** Names that end in `Of` in JavaScript, JSON Schema and the options of tar. */
const OF_NAMES = new Set(
  'indexOf lastIndexOf valueOf getPrototypeOf setPrototypeOf isPrototypeOf allOf anyOf oneOf multipleOf xzOf'.split(' '),
)
const PHRASES: Readonly<Record<string, string>> = {
  'of its own affair': 'name what it depends on',
  'let go of': 'release',
  'lets go of': 'releases',
  'said text': 'redaction buffer',
  'handed-in': 'forwarded',
  'handing in': 'forwarding',
}

/** Trails that are the field's own word, in comments, names and paths: audit trails, and CloudTrail of AWS. */
const NAMED_TRAILS = /(?:audit[ _-]?|Cloud)trail/gi

/** Lines in which such a word is meant as it stands, by file; a part of the line is enough. */
export const HONEST: Readonly<Record<string, readonly string[]>> = {
  // Stories of the simulator, words of users, and what attacks say.
  'src/dialects/sim/script.ts': ['An old sailor told', 'Nobody'],
  'plugins/auto-router/vocabulary.ts': ['nobody everybody'],
  'src/guardrails/injection/english.ts': ['told'],
  // The account of that name on every Linux.
  'src/services/sandbox/argv.ts': ['nobody', 'NOBODY'],
  'src/services/sandbox/folders.ts': ['NOBODY'],
  // Closings of letters.
  'src/guardrails/recognise/person-name.ts': ['Bb]est wishes', 'ishes'],
  // Documented names of the plugin API.
  'docs/plugins.md': ['searchDesk'],
  'plugins/web/config.ts': ['searchDesk'],
  'src/plugin-api/index.ts': ['earchDesk'],
  'src/services/search/index.ts': ['earchDesk'],
  'src/services/search/settings.ts': ['earchDesk'],
  'src/tools/web-search/tool.ts': ['searchDesk'],
  'test/config/reference.test.ts': ['searchDesk'],
  'docs/style.md': ['`let go`'],
  // Broken JSON.
  'test/dialects/messages/pass.test.ts': ['{oops'],
  'test/dialects/messages/upstream-stream.test.ts': ['{oops'],
  'test/dialects/responses/stream.test.ts': ["'oops'"],
  // A street, in addresses.
  'src/guardrails/recognise/address.ts': ['Trail', 'trail'],
  // The machinery of requests on a socket, and the store.
  'src/machines/http1-client/running-request.ts': ['lets go of the connection', 'Let go of once'],
  'src/store/guardrails.ts': ['the trail of what'],
  // A person.
  'src/tools/mcp/session.ts': ['the user is asked'],
}

export interface Finding {
  line: number
  word: string
  instead: string
}

/** @param honest parts of lines that may stand. */
export function plainWordFindings(text: string, honest: readonly string[] = [], words: ReadonlyMap<string, string> = WORDS): Finding[] {
  const found: Finding[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (honest.some((part) => line.includes(part))) continue
    for (const [word] of line.replaceAll(NAMED_TRAILS, '').matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)) {
      const instead = words.get(word.toLowerCase())
      if (instead !== undefined) found.push({ line: at + 1, word, instead })
    }
    for (const [phrase, instead] of Object.entries(PHRASES)) {
      if (line.toLowerCase().includes(phrase)) found.push({ line: at + 1, word: phrase, instead })
    }
  }
  return found
}

/** Names of code that end in `Of`. */
export function ofNames(text: string): Finding[] {
  return text
    .split('\n')
    .flatMap((line, at) =>
      [...line.matchAll(/\b[a-z]\w*Of\b/g)]
        .filter(([word]) => !OF_NAMES.has(word))
        .map(([word]) => ({ line: at + 1, word, instead: 'a verb, or a noun with what it belongs to (docs/style.md)' })),
    )
}

function read(pattern: string | readonly string[]): [file: string, text: string][] {
  const files = globSync(pattern, { cwd: ROOT, exclude: (path) => path.endsWith('node_modules') || path.endsWith('.build') }).sort()
  return files.filter((file) => !LEFT_OUT.test(file)).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')])
}

if (import.meta.main) {
  let count = 0
  const print = (file: string, findings: readonly Finding[]): void => {
    count += findings.length
    for (const { line, word, instead } of findings) console.log(`${file}:${line}: ${word}; write ${instead}`)
  }
  const check = (file: string, text: string): void => {
    print(file, plainWordFindings(text, HONEST[file], OWN_WORDS))
    if (!file.endsWith('.md')) print(file, ofNames(text))
  }
  for (const [file, text] of read(FILES)) {
    print(file, plainWordFindings(text, HONEST[file]))
    check(file, text)
  }
  const counts: Record<string, number> = {}
  for (const folder of COUNTED) {
    counts[folder] = 0
    for (const [file, text] of read(`${folder}/**/*.{ts,tsx,md}`)) {
      counts[folder] += plainWordFindings(text, HONEST[file]).length
      check(file, text)
    }
  }
  if (process.argv[2] === '--write') writeFileSync(KEPT, `${JSON.stringify(counts, null, 2)}\n`)
  const kept: Record<string, number> = JSON.parse(readFileSync(KEPT, 'utf8'))
  for (const [folder, found] of Object.entries(counts)) {
    if (found <= (kept[folder] ?? 0)) continue
    count++
    console.log(`${folder}: ${found} private words, ${kept[folder] ?? 0} at most are allowed (scripts/plain-words.ts)`)
  }
  process.exitCode = count === 0 ? 0 : 1
}
