/** Results of the suite, kept in `results/`, and the parts of the documents that are made of it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { markdownTable, withSections } from '../../scripts/markdown-table.ts'
import { AGENTS } from '../../src/config/agents/index.ts'
import type { WireName } from '../support/wire.ts'
import type { Format } from './agent-run.ts'
import type { Traffic } from './model.ts'

export interface Cell {
  /** Why it is not run, or what is known not to work; absent where it works. */
  readonly not?: string
  /** Note for the reader. */
  readonly note?: string
}

export interface WireResults {
  /** Undefined where it failed, so that an earlier result goes. */
  readonly scenarios: Readonly<Record<string, Cell | undefined>>
  /** Of the task, once it was run. */
  readonly traffic?: Traffic
  /** Fields of the task's requests that the gateway left out or changed. */
  readonly leftOut?: readonly string[]
}

export interface Results {
  readonly agent: string
  readonly package: string
  readonly version: string
  readonly formats: Readonly<Partial<Record<Format, Readonly<Partial<Record<WireName, WireResults>>>>>>
}

const FOLDER = join(import.meta.dirname, 'results')
const DOCS = join(dirname(dirname(import.meta.dirname)), 'docs', 'agents')
const WIRES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']
/** The scenarios for all agents, as their rows stand; an agent's own come behind. */
const ORDER = ['task', 'parallel', 'large result', 'compaction', 'MCP', 'image', 'kill']
const FORMATS: Readonly<Record<Format, string>> = { chat: 'Chat Completions', messages: 'Messages', responses: 'Responses' }

export function readResults(agent: string): Results | undefined {
  const path = join(FOLDER, `${agent}.json`)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results) : undefined
}

/** Results of the same version that were not found anew stay. */
export function writeResults(found: Results): void {
  const before = readResults(found.agent)
  const results = before?.version === found.version ? merged(before, found) : found
  writeFileSync(join(FOLDER, `${results.agent}.json`), `${JSON.stringify(results, undefined, 2)}\n`)
}

export function merged(before: Results, found: Results): Results {
  const formats: Partial<Record<Format, Partial<Record<WireName, WireResults>>>> = structuredClone(before.formats) as object
  for (const [format, wires] of resultFormats(found)) {
    const own = { ...formats[format] }
    formats[format] = own
    for (const wire of WIRES) {
      const [old, next] = [own[wire], wires[wire]]
      if (next) own[wire] = { ...old, ...next, scenarios: { ...old?.scenarios, ...next.scenarios } }
    }
  }
  return { ...found, formats }
}

/** In two figures, since paths and dates of a run change the rest. */
export function rounded(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, count))) - 1)
  return Math.round(count / unit) * unit
}

type WireMap = Readonly<Partial<Record<WireName, WireResults>>>

const resultFormats = ({ formats }: Results): [Format, WireMap][] => Object.entries(formats) as [Format, WireMap][]

function listCells(results: WireResults | undefined): [string, Cell][] {
  return Object.entries(results?.scenarios ?? {}).flatMap(([name, cell]) => (cell === undefined ? [] : [[name, cell]]))
}

/** @param known names of all scenarios: those for all agents, and the agent's own that were run on any wire. */
function summary(results: WireResults | undefined, known: ReadonlySet<string>): string {
  const cells = listCells(results)
  if (cells.length === 0) return 'not run'
  const failing = cells.filter(([, { not }]) => not !== undefined).map(([name]) => name)
  const works = cells.length - failing.length
  if (works === known.size) return `all ${known.size}`
  const unrun = known.size - cells.length
  const missing = [...(failing.length > 0 ? [`not ${failing.join(', ')}`] : []), ...(unrun > 0 ? [`${unrun} not run`] : [])]
  return `${works} of ${known.size}: ${missing.join('; ')}`
}

/** The table of docs/agents/README.md: a row for each agent and format, a column for each wire. */
export function overview(all: readonly Results[]): string {
  const rows = all.flatMap((results) =>
    resultFormats(results).map(([format, wires]) => {
      const known = new Set([...ORDER, ...WIRES.flatMap((wire) => listCells(wires[wire]).map(([name]) => name))])
      const title = AGENTS.find(({ name }) => name === results.agent)?.title ?? results.agent
      return [`[${title}](${results.agent}.md)`, results.version, FORMATS[format], ...WIRES.map((wire) => summary(wires[wire], known))]
    }),
  )
  return markdownTable(['Agent', 'Version', 'Format', ...WIRES.map((wire) => `\`${wire}\``)], rows)
}

/** The block of an agent's page. */
export function page(results: Results): string {
  const parts = resultFormats(results).map(([format, wires]) => formatPart(format, wires))
  return [`Certified with \`${results.package}\` ${results.version}.`, ...parts].join('\n\n')
}

class Footnotes {
  readonly #texts: string[] = []

  mark(text: string): string {
    const at = this.#texts.includes(text) ? this.#texts.indexOf(text) : this.#texts.push(text) - 1
    return ` (${at + 1})`
  }

  get lines(): string {
    return this.#texts.map((text, at) => `${at + 1}. ${text}`).join('\n')
  }
}

function formatPart(format: Format, wires: WireMap): string {
  const notes = new Footnotes()
  const shown = (cell: Cell | undefined): string => {
    if (!cell) return 'not run'
    const { not, note } = cell
    return `${not === undefined ? 'yes' : 'no'}${(not ?? note) ? notes.mark(`${not ?? note}`) : ''}`
  }
  const names = [...new Set(WIRES.flatMap((wire) => listCells(wires[wire]).map(([name]) => name)))]
  const place = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)
  names.sort((a, b) => place(a) - place(b))
  const rows = names.map((name) => [name, ...WIRES.map((wire) => shown(wires[wire]?.scenarios[name]))])
  const measured = WIRES.flatMap((wire) => {
    const found = wires[wire]
    if (!found?.traffic) return []
    const { requests, sent, repeated, received } = found.traffic
    const left = (found.leftOut ?? []).map((name) => `\`${name}\``).join(', ')
    return [[`\`${wire}\``, ...[requests, sent, repeated, received].map((count) => count.toLocaleString('en')), left || 'nothing']]
  })
  return [
    `Over ${FORMATS[format]}, by what the provider speaks:`,
    markdownTable(['Scenario', ...WIRES.map((wire) => `\`${wire}\``)], rows),
    ...(notes.lines === '' ? [] : [notes.lines]),
    'Cost of the task, in tokens of four bytes:',
    markdownTable(['Provider', 'Requests', 'Tokens sent', 'Of them from the cache', 'Tokens of replies', 'Left out or changed'], measured),
  ].join('\n\n')
}

/** The documents as they have to be: text by path. */
export function documents(): Map<string, string> {
  const all = AGENTS.flatMap(({ name }) => readResults(name) ?? [])
  const found = new Map<string, string>()
  const put = (file: string, section: string, text: string): void => {
    const path = join(DOCS, file)
    found.set(path, withSections(readFileSync(path, 'utf8'), { [section]: text }))
  }
  put('README.md', 'agents', overview(all))
  for (const results of all) put(`${results.agent}.md`, 'certified', page(results))
  return found
}
