/** The tables of docs/sizing.md, from the newest file of goals that the benchmark has written. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable } from './markdown-table.ts'

const ROOT = join(import.meta.dirname, '..')
/** Rows of "Goals" by the beginning of their name, and their words here. */
const MEMORY: readonly [goal: string, resource: string][] = [
  ['idle memory after a few requests', 'Memory, idle'],
  ['memory per idle open stream', 'Memory for each open stream'],
  ['most resident memory in the chat scenario', 'Memory, at most, while short chats keep one processor full'],
  ['from `node bin/headgate.js serve` to the first answer', 'Time from the start to the first answer'],
]
/** Columns of "Peers": processor time of the row `headgate`. */
const LOADS: readonly [column: string, load: string][] = [
  ['chat, CPU µs', 'one JSON reply'],
  ['chat-stream, CPU µs', 'stream of 100 events'],
  ['agent-chat-chat, CPU µs', 'turn of an agent, 330 KB, streamed'],
]

const lineCells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

/** @returns the tables by the names of their markers. @throws Error where the file lacks a row. */
export function sizingTables(): Record<string, string> {
  const file = globSync('bench/results/*-goals.md', { cwd: ROOT }).sort().at(-1) ?? ''
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  const wanted = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw new Error(`scripts/sizing-table.ts: ${file} has no ${what}`)
    return value
  }
  const goals = lines.filter((line) => line.startsWith('|')).map(lineCells)
  const memory = MEMORY.map(([goal, resource]) => [resource, wanted(goals.find(([name = '']) => name.startsWith(goal))?.[3], goal)])
  const head = wanted(
    goals.find(([name]) => name === 'target'),
    'table of peers',
  )
  const own = wanted(
    goals.find(([name]) => name === 'headgate'),
    'row of headgate',
  )
  const loads = LOADS.map(([column, load]) => {
    const micros = Number(wanted(own[head.indexOf(column)], column))
    return [load, `${micros.toLocaleString('en-US')} µs`, (Math.round(1e5 / micros) * 10).toLocaleString('en-US')]
  })
  const day = /\d{4}-\d{2}-\d{2}/.exec(file)?.[0] ?? ''
  return {
    memory: `${markdownTable(['Resource', 'Measured'], memory)}\n\nOne run on ${day}: [bench/${file.slice('bench/'.length)}](../${file}).`,
    processor: markdownTable(['Load', 'Processor time of a request', 'Requests a second that fill one processor'], loads),
  }
}
