/** Changes that are made to a source: one operator, constant, condition or call of one line. */

import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { type Node, parse } from 'acorn'
import { simple } from 'acorn-walk'
import { entryAt } from '../../src/core/entry-at.ts'

/** Place of a mutation. */
export interface Place {
  /** Path from the root. */
  file: string
  /** Counted from 1. */
  line: number
  /** Characters of the file before the change. */
  offset: number
}

export interface Mutation extends Place {
  /** The line without its margin, and what it becomes. */
  before: string
  after: string
  /** The lines around it, without margins. */
  near: [string, string]
}

/** Mutations of one file at most: a long table is no more worth testing than a short rule. */
const PER_FILE = 3

const OPPOSITE: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
}

interface Change {
  start: number
  end: number
  text: string
}

interface Operation extends Node {
  operator: string
  left: Node & { type: string }
  right: Node & { type: string }
}

/** Source files of the gateway and its plugins, from the root; those that a script writes are left out. */
export function sourceFiles(root: string): string[] {
  const files = globSync(['src/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).filter((file) => !file.endsWith('.d.ts'))
  return files.filter((file) => !/^(\/\/|\/\*).*generated/i.test(readFileSync(join(root, file), 'utf8').slice(0, 200))).sort()
}

/** One more of a few: a count or an index. Half of many: a limit or a time, of which one more makes no difference. */
const otherNumber = (value: number): number => (value < 10 ? value + 1 : Math.floor(value / 2))

function possibleChanges(code: string): Change[] {
  const changes: Change[] = []
  const operation = (node: Node): void => {
    const { operator, left, right } = node as Operation
    const text = OPPOSITE[operator]
    const joins = operator === '+' && [left, right].some(({ start, type }) => type === 'TemplateLiteral' || /['"]/.test(code.charAt(start)))
    const start = code.indexOf(operator, left.end)
    if (text !== undefined && !joins && start < right.start) changes.push({ start, end: start + operator.length, text })
  }
  const condition = (node: Node): void => {
    const { test } = node as Node & { test: Node }
    changes.push({ start: test.start, end: test.end, text: `!(${code.slice(test.start, test.end)})` })
  }
  simple(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
    BinaryExpression: operation,
    LogicalExpression: operation,
    IfStatement: condition,
    ConditionalExpression: condition,
    UnaryExpression({ operator, start, argument }) {
      if (operator === '!') changes.push({ start, end: argument.start, text: '' })
    },
    Literal({ value, start, end }) {
      if (typeof value === 'boolean') changes.push({ start, end, text: String(!value) })
      if (typeof value === 'number') changes.push({ start, end, text: String(otherNumber(value)) })
    },
    ExpressionStatement({ expression, start, end }) {
      if (expression.type === 'CallExpression') changes.push({ start, end, text: '' })
    },
  })
  return changes
}

/** All mutations of a file that keep to one line. */
function candidates(root: string, file: string): Mutation[] {
  const text = readFileSync(join(root, file), 'utf8')
  // Types become blanks, so positions stay.
  const code = stripTypeScriptTypes(text, { mode: 'strip' })
  const lines = text.split('\n')
  const found: Mutation[] = []
  for (const { start, end, text: into } of possibleChanges(code)) {
    if (text.slice(start, end).includes('\n') || text.slice(start, end) !== code.slice(start, end)) continue
    const line = text.slice(0, start).split('\n').length
    const from = text.lastIndexOf('\n', start - 1) + 1
    const whole = entryAt(lines, line - 1)
    const after = whole.slice(0, start - from) + into + whole.slice(end - from)
    const near: [string, string] = [lines[line - 2]?.trim() ?? '', lines[line]?.trim() ?? '']
    found.push({ file, line, offset: start, before: whole.trim(), after: after.trim(), near })
  }
  return found
}

/** So many mutations over all sources, the same for the same seed and sources. @param reached false where no test runs the place. */
export function drawMutations(root: string, choice: { seed: number; count: number; reached: (place: Place) => boolean }): Mutation[] {
  const rank = ({ file, offset, after }: Mutation): string =>
    createHash('sha256').update(`${choice.seed} ${file} ${offset} ${after}`).digest('hex')
  const ranked = sourceFiles(root)
    .flatMap((file) => candidates(root, file))
    .map((mutation) => ({ mutation, rank: rank(mutation) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
  const taken = new Map<string, number>()
  const chosen: Mutation[] = []
  for (const { mutation } of ranked) {
    if (chosen.length === choice.count) break
    const before = taken.get(mutation.file) ?? 0
    if (before === PER_FILE || !choice.reached(mutation)) continue
    taken.set(mutation.file, before + 1)
    chosen.push(mutation)
  }
  return chosen
}

/** Place of a mutation's line today: by its text, and where that stands more than once, by its neighbours and its file. */
export function findPlace(root: string, mutation: Mutation): Mutation | undefined {
  const found: { place: Mutation; likeness: number }[] = []
  for (const file of sourceFiles(root)) {
    const text = readFileSync(join(root, file), 'utf8')
    if (!text.includes(mutation.before)) continue
    const lines = text.split('\n')
    let offset = 0
    for (const [at, whole] of lines.entries()) {
      if (whole.trim() === mutation.before) {
        const near = [lines[at - 1]?.trim() ?? '', lines[at + 1]?.trim() ?? '']
        const likeness = near.filter((line, side) => line === mutation.near[side]).length * 2 + (file === mutation.file ? 1 : 0)
        found.push({ place: { ...mutation, file, line: at + 1, offset: offset + whole.indexOf(mutation.before) }, likeness })
      }
      offset += whole.length + 1
    }
  }
  found.sort((a, b) => b.likeness - a.likeness)
  const [best, next] = found
  return best && (!next || best.likeness > next.likeness) ? best.place : undefined
}
