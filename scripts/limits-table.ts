/** The tables of docs/limits.md: the greatest sizes, each read from the constant or the default that holds it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ruleEntries } from './config-reference.ts'
import { type Cells, markdownTable } from './markdown-table.ts'

const ROOT = join(import.meta.dirname, '..')
const entries = new Map(ruleEntries().map((entry) => [entry.path, entry]))

/** A limit: what it bounds, and the sources of its figures. */
type Row = readonly [what: string, ...figures: Figure[]]
type Figure = readonly [file: string, constant: string, unit?: Unit] | { readonly setting: string } | string
type Unit = 'bytes' | 'ms' | 's' | 'USD'

const REQUEST: readonly Row[] = [
  ['body', { setting: 'server.max_body' }],
  ['head', { setting: 'server.max_headers' }],
  ['nesting', { setting: 'server.json_depth' }],
  ['time for the head; for the whole request', { setting: 'server.header_timeout' }, { setting: 'server.deadline' }],
  ['time after which a body must have come at 16 KB a second on average', { setting: 'server.body_timeout' }],
  ['messages, input items', ['src/dialects/canon/bounds.ts', 'MAX_MESSAGES']],
  ['parts of one message, blocks of a system prompt, calls of one turn', ['src/dialects/canon/bounds.ts', 'MAX_PARTS']],
  [
    'inputs of embeddings; their dimensions',
    ['src/dialects/embeddings/check.ts', 'MAX_INPUTS'],
    ['src/dialects/embeddings/check.ts', 'MAX_DIMENSIONS'],
  ],
  ['tools', ['src/dialects/canon/bounds.ts', 'MAX_TOOLS']],
  ['tools that are not functions', ['src/pipeline/request/read.ts', 'MAX_TOOLS']],
  ['tools named in a tool choice', ['src/dialects/canon/request-fields.ts', 'MAX_ALLOWED']],
  ['`logit_bias`', ['src/dialects/canon/bounds.ts', 'MAX_BIASES']],
  [
    '`metadata`: pairs; characters of a name',
    ['src/dialects/canon/request-fields.ts', 'MAX_PAIRS'],
    ['src/dialects/canon/request-fields.ts', 'MAX_KEY'],
  ],
  ['characters of a session', ['src/pipeline/request/read.ts', 'MAX_SESSION_LENGTH']],
  ['other lists', ['src/dialects/canon/bounds.ts', 'MAX_ENTRIES']],
  ['addresses of media that are fetched', ['src/pipeline/route/media-fetch.ts', 'MAX_ADDRESSES']],
  ['objects and arrays of a body', ['src/pipeline/request/read.ts', 'MAX_CONTAINERS']],
  [
    'members of all objects; of one object',
    ['src/pipeline/request/read.ts', 'MAX_MEMBERS'],
    ['src/pipeline/request/read.ts', 'MAX_MEMBERS_OF_ONE'],
  ],
  ['members and elements of all lists', ['src/pipeline/request/read.ts', 'MAX_COMMAS']],
  ['counts', ['src/core/parameters.ts', 'MAX_COUNT']],
  ['whole numbers, and numbers in fields that the format does not name', 'below 2^53; bounds in JSON schemas may be larger'],
  ['any number', 'must fit in a double; `1e400` does not'],
]

const REPLY: readonly Row[] = [
  ['one event of a stream', ['src/machines/sse/frames.ts', 'MAX_FRAME', 'bytes']],
  ['characters of an answer that is checked against its schema', ['src/pipeline/attempt/answer-check.ts', 'LONGEST']],
  ['characters that a guardrail holds back in a stream', ['src/guardrails/text-stream.ts', 'HELD_MOST']],
  ['`Retry-After`; a longer pause has `X-Should-Retry: false`', ['src/core/retry-after.ts', 'MAX_RETRY_AFTER_SECONDS', 's']],
]

const TOOLS: readonly Row[] = [
  [
    'calls of server tools in one reply; at once',
    ['src/pipeline/tools/converse.ts', 'MAX_STEPS'],
    ['src/pipeline/tools/tool-turn.ts', 'MAX_AT_ONCE'],
  ],
  ['results of one search', ['src/services/search/scope.ts', 'MAX_RESULTS']],
  [
    'pages of one reply; size of one page',
    ['src/services/pages/settings.ts', 'MAX_USES'],
    ['src/services/pages/settings.ts', 'MAX_BYTES', 'bytes'],
  ],
  ['commands of one call of the shell', ['src/tools/shell/commands.ts', 'MAX_COMMANDS']],
  ['diff of a patch', ['src/tools/apply-patch/tool.ts', 'MAX_DIFF_LENGTH', 'bytes']],
  ['MCP servers', ['src/tools/mcp/tool.ts', 'MAX_SERVERS']],
  ['steps of a subagent', ['src/tools/subagent/config.ts', 'MAX_STEPS']],
  ['one file that `router:files` reads or writes', ['src/tools/files/tool.ts', 'MAX_BYTES', 'bytes']],
  ['one file that `file-parser` reads', ['plugins/file-parser/file-parts.ts', 'MAX_BYTES', 'bytes']],
]

const MANAGEMENT: readonly Row[] = [
  ['limit of a key', ['src/core/money.ts', 'MAX_USD', 'USD']],
  [
    'guardrails of the store; filters of one',
    ['src/api/guardrails.ts', 'MAX_GUARDRAILS'],
    ['src/guardrails/settings/fields.ts', 'MAX_FILTERS'],
  ],
  [
    'characters of one pattern; of all patterns of a guardrail',
    ['src/machines/linear-regex/pattern.ts', 'PATTERN_LENGTH'],
    ['src/api/guardrail-body.ts', 'MAX_PATTERN_CHARACTERS'],
  ],
  ['generations on one page; refusals', ['src/api/generations.ts', 'MAX_FOUND'], ['src/api/refusals.ts', 'MAX_REFUSALS']],
  ['entries of `/v1/models` on one page', ['src/api/models.ts', 'MAX_MODELS']],
  ['session of the control room', ['src/api/room-sessions.ts', 'MAX_SESSION_MS', 'ms']],
  ['errors that a check of the configuration lists', ['src/config/problems.ts', 'MAX_PROBLEMS']],
]

const NUMBER = /^[\d_.]+(?:e\d+)?$/

/** Value of a constant that is a product, sum or power of numbers. @throws Error where the file has no such constant. */
export function readConstant(file: string, name: string): number {
  const written = new RegExp(`^(?:export )?const ${name}(?:: \\w+)? = (.+)$`, 'm').exec(readFileSync(join(ROOT, file), 'utf8'))?.[1]
  if (written === undefined) throw new Error(`scripts/limits-table.ts: ${file} has no constant ${name}`)
  const number = (text: string): number => {
    if (!NUMBER.test(text)) throw new Error(`scripts/limits-table.ts: ${name} of ${file} is no plain number: ${written}`)
    return Number(text.replaceAll('_', ''))
  }
  const power = (text: string): number =>
    text
      .split(' ** ')
      .map(number)
      .reduce((base, exponent) => base ** exponent)
  const product = (text: string): number =>
    text
      .split(' * ')
      .map(power)
      .reduce((left, right) => left * right)
  return written
    .split(' - ')
    .map(product)
    .reduce((left, right) => left - right)
}

function amount(value: number, unit: Unit | undefined): string {
  if (unit === 'bytes') return value % (1024 * 1024) === 0 ? `${value / (1024 * 1024)} MiB` : `${value / 1024} KiB`
  if (unit === 'ms') return value % 3_600_000 === 0 ? `${value / 3_600_000} h` : `${value / 1000} s`
  return `${value.toLocaleString('en-US')}${unit === undefined ? '' : ` ${unit}`}`
}

function figure(of: Figure): string {
  if (typeof of === 'string') return of
  if ('setting' in of) {
    const found = entries.get(of.setting)?.rule.default
    if (found === undefined) throw new Error(`scripts/limits-table.ts: the setting ${of.setting} has no default`)
    return `${String(found)} (\`${of.setting}\`)`
  }
  const [file, name, unit] = of
  return amount(readConstant(file, name), unit)
}

const table = (rows: readonly Row[]): string =>
  markdownTable(
    ['Limit', 'Value'],
    rows.map(([what, ...figures]): Cells => [what, figures.map(figure).join('; ')]),
  )

/** The tables by the names of their markers. */
export function limitsTables(): Record<string, string> {
  return { request: table(REQUEST), reply: table(REPLY), tools: table(TOOLS), management: table(MANAGEMENT) }
}
