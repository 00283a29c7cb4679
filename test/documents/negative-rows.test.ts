/**
 * Lacks of headgate as the documents state them: rows with "none", lists of what has no equivalent, rows of what does not work. Each is held
 * to what there is, since such sentences go out of date unseen.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { presetNames } from '../../src/config/provider-presets.ts'
import { paths, ROOT, read } from '../repository/source-tree.ts'

/** Words of features, each with a file without which there is no such feature. */
const FEATURES: readonly (readonly [words: RegExp, file: string])[] = [
  [/admin UI|web interface|dashboard/i, 'web/main.tsx'],
  [/OpenTelemetry|OTel\b|traces\b/i, 'docs/observability.md'],
  [/webhooks?\b/i, 'docs/events.md'],
  [/soft.?budget/i, 'docs/events.md'],
  [/S3\b|ClickHouse/i, 'docs/exports.md'],
  [/signed requests|short-lived tokens/i, 'src/services/credentials/credentials.ts'],
  [/PostgreSQL|Redis/i, 'docs/workers.md'],
  [/playground|activity page/i, 'docs/control-room.md'],
  [/MCP/, 'docs/mcp.md'],
  [/prompt caching/i, 'docs/routing.md'],
  [/web search/i, 'docs/web-search.md'],
  [/bare (model )?names/i, 'docs/catalogue.md'],
  [/\bweights?\b/i, 'src/routing/criteria/weight.ts'],
  [/least.busy/i, 'src/routing/running-calls.ts'],
]

/** Operations that callers have; a sentence may still say of one that it refuses a field. */
const OPERATIONS = ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/models', '/v1/files']

/** Sentences that name a feature to say what it does instead: the row itself leads on. */
const LEADS_ON = /\]\(|`[a-z_.]+:/

/** Rows and list entries that deny something, as `page:line`. */
function denials(page: string): { at: string; text: string; isEntry: boolean }[] {
  const found: { at: string; text: string; isEntry: boolean }[] = []
  let inList = false
  for (const [index, line] of read(page).split('\n').entries()) {
    if (/^#|^\S.*[^:]$/.test(line) && !line.startsWith('-') && !line.startsWith('|')) inList = false
    if (/no equivalent( for)?:$|does not have:$/.test(line)) inList = true
    const cells = line.startsWith('|') ? line.split('|').map((cell) => cell.trim()) : []
    const denies = cells.some((cell) => /^none\b/i.test(cell) || /^Does not work/.test(cell)) || (inList && line.startsWith('- '))
    if (denies) found.push({ at: `${page}:${index + 1}`, text: line, isEntry: cells.length === 0 })
  }
  return found
}

const pages = paths('docs/migration/*.md', 'docs/migration/*/*.md', 'docs/agents/*.md')
const all = pages.flatMap(denials)

t.test('finds sentences of the documents that deny something, and the files of each feature', async (t) => {
  t.ok(all.length > 15, `${all.length} in ${pages.length} pages`)
  for (const [words, file] of FEATURES) t.ok(existsSync(join(ROOT, file)), `${words.source}: ${file}`)
})

t.test('no sentence denies a feature, a preset or an operation that exists', async (t) => {
  const names = presetNames().filter((name) => !name.includes('-'))
  const untrue = all.flatMap(({ at, text, isEntry }) => {
    if (LEADS_ON.test(text)) return []
    const words = FEATURES.filter(([form]) => form.test(text)).map(([form]) => form.source)
    // In a row a provider may be named for where something of another gateway goes.
    const providers = isEntry ? names.filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(text)) : []
    return [...words, ...providers].map((denied) => `${at} denies ${denied}: ${text}`)
  })
  t.same(untrue, [])
  t.same(
    all.flatMap(({ at, text }) => OPERATIONS.filter((path) => text.includes(`no \`${path}\``)).map((path) => `${at} denies ${path}`)),
    [],
  )
})
