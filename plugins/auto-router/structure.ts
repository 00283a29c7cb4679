/** Signs in the form of a prompt, beside its words. The reach of a pattern is bounded. */
import type { Task } from './tasks.ts'

export interface Mark {
  /** Name in the documentation. */
  readonly name: string
  readonly task: Task
  readonly points: number
  readonly pattern: RegExp
  /** Must be found as well, anywhere: one pattern could not say both in linear time. */
  readonly beside?: RegExp
}

/** Marks of one task give this many points at most: pasted code must not outweigh the instruction about it. */
export const MARKS_MOST = 5

export const MARKS: readonly Mark[] = [
  { name: 'code fence', task: 'coding', points: 2.5, pattern: /```/ },
  { name: 'line that ends as code does', task: 'coding', points: 1.5, pattern: /[;{}][ \t]*$|^[ \t]{2,}return\b/m },
  {
    name: 'declaration',
    task: 'coding',
    points: 2.5,
    pattern: /^[ \t]*(?:def|class|func|fn|public|private|import|from|const|let|var|package|#include|using) [\w{*"'<(]/m,
  },
  { name: 'operator of a program', task: 'coding', points: 1.5, pattern: /=>|===?|!=|&&|\|\||->|::|\+\+|<\/\w|\w\(\)/ },
  { name: 'call or member', task: 'coding', points: 1.5, pattern: /\b[a-z]\w*\.[a-z]\w*\(|\b[a-z]\w*\([^()\n]{0,80}\);?/ },
  { name: 'error of a program', task: 'coding', points: 2.5, pattern: /\b[A-Z]\w{0,40}(?:Error|Exception)\b|\bat \S{1,80}:\d+/ },
  { name: 'identifier', task: 'coding', points: 1, pattern: /\b[a-z]{2,30}(?:[A-Z][a-z]{1,30})+\b|\b[a-z]{2,30}_[a-z]{2,30}\b/ },
  {
    name: 'name of a source file',
    task: 'coding',
    points: 2,
    pattern: /[\w*-]\.(?:py|js|jsx|ts|tsx|java|go|rs|rb|php|c|h|cpp|cs|sh|sql|html|css|json|ya?ml|toml|log)\b/,
  },
  { name: 'keywords of SQL', task: 'coding', points: 2.5, pattern: /\bSELECT\b[^;]{0,200}\bFROM\b|\b(?:INSERT INTO|CREATE TABLE)\b/ },
  { name: 'input and output', task: 'coding', points: 2, pattern: /\binput\b[\s\S]{0,200}\boutput\b/i },
  { name: 'sum of numbers', task: 'math', points: 2, pattern: /\d\s*[-+*/×÷^]\s*\(?\d/ },
  { name: 'power or root', task: 'math', points: 2, pattern: /\w\s?\^\s?[\d({]|[√²³]/ },
  { name: 'formula with a variable', task: 'math', points: 2, pattern: /(?:^|[\s(])\d*[a-z](?:\([a-z]\))?\s*=\s*[-\d(a-z]|\b\d[xyz]\b/ },
  { name: 'mathematical sign', task: 'math', points: 2.5, pattern: /\\(?:frac|sum|int|sqrt|lim|prod|begin)\b|[∑∫π≤≥≠∞∂∈]/ },
  { name: 'share of a number', task: 'math', points: 1.5, pattern: /\d\s?% of \W?\d/ },
  { name: 'percentage', task: 'math', points: 1.5, pattern: /\d\s?%/ },
  {
    name: 'question of an amount, beside a number',
    task: 'math',
    points: 2,
    pattern: /\bhow (?:much|many|old|long|far|fast|tall|heavy)\b/i,
    beside: /\d/,
  },
  { name: 'many numbers', task: 'math', points: 1, pattern: /(?:\d[^\d\n]{1,60}){3}\d/ },
  { name: 'function of a variable', task: 'math', points: 1.5, pattern: /\b[fgh]\([xyztn]\)/ },
  {
    name: 'number with a unit',
    task: 'math',
    points: 1,
    pattern: /\d ?(?:km|kilomet|miles?\b|met[re]{2}s?\b|hours?\b|minutes?\b|kg\b|lit[re]{2}s?\b)/,
  },
  {
    name: 'part to play',
    task: 'writing',
    points: 2.5,
    pattern: /^\s*(?:please )?(?:imagine you|pretend|act as|now you are|you are an? |picture yourself|consider yourself|as an? [a-z])/i,
  },
  { name: 'what would be if', task: 'reasoning', points: 2, pattern: /\bif (?:\S+ ){1,5}had\b/i },
  { name: 'list of cases', task: 'reasoning', points: 1, pattern: /\b1\)[^\n]{1,200}\b2\)|^1\. [^\n]*\n2\. /m },
  { name: 'empty table', task: 'extraction', points: 1.5, pattern: /\|\s*\w[^|\n]{0,40}\|/ },
  { name: 'address of mail', task: 'extraction', points: 0.5, pattern: /\w@\w[\w.-]{0,60}\.\w/ },
  { name: 'word for translating, in a script without spaces', task: 'translation', points: 5, pattern: /翻译|翻譯|翻訳|번역/ },
  {
    name: 'two scripts',
    task: 'translation',
    points: 2,
    pattern: /[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\u0400-\u04ff\u0600-\u06ff]{3}/,
    beside: /[a-z]{3}/,
  },
]

/** Points by task for the form of a text. */
export function countMarks(text: string): ReadonlyMap<Task, number> {
  const found = new Map<Task, number>()
  for (const { task, points, pattern, beside } of MARKS) {
    if (!pattern.test(text) || beside?.test(text) === false) continue
    found.set(task, Math.min(MARKS_MOST, (found.get(task) ?? 0) + points))
  }
  return found
}
