/** Lines of a configuration in one form, with the lines of the file: without comments and without secrets. */
import { isObject, type Json } from '../core/json.ts'
import { AS_WRITTEN } from './expand.ts'
import type { Path } from './problems.ts'
import { configSchema } from './schema/root.ts'
import { Source } from './source.ts'
import type { Rule } from './validate.ts'
import { innerRules, shownValue } from './written-entries.ts'

export interface WrittenLine {
  /** From 1, of the file. */
  readonly line: number
  readonly text: string
}

/** @returns undefined where the text is no YAML. */
export function writtenLines(text: string): WrittenLine[] | undefined {
  const source = new Source('text', text, AS_WRITTEN)
  if (source.unreadable) return undefined
  return [...writeLines(source, { value: source.data, path: [], rule: configSchema as Rule, indent: '' })]
}

interface Part {
  readonly value: Json
  readonly path: Path
  readonly rule: Rule | undefined
  readonly indent: string
}

const isLeaf = (value: Json): boolean => typeof value !== 'object' || value === null || Object.keys(value).length === 0

function* writeLines(source: Source, { value, path, rule, indent }: Part): Generator<WrittenLine> {
  const findInnerRule = innerRules(rule, value)
  const entries: [step: string | number, head: string, value: Json][] = Array.isArray(value)
    ? value.map((each, i) => [i, '- ', each])
    : isObject(value)
      ? Object.entries(value).map(([name, each]) => [name, `${plain(name)}: `, each ?? null])
      : []
  if (entries.length === 0) yield { line: 1, text: scalar(value) }
  for (const [step, head, each] of entries) {
    const at = [...path, step]
    const { line } = source.pathPlace(at, 'key')
    const own = findInnerRule(step)
    if (isLeaf(each)) yield { line, text: `${indent}${head}${scalar(shownValue(each, at, own).value)}` }
    else if (typeof step === 'string') {
      yield { line, text: `${indent}${head.trimEnd()}` }
      yield* writeLines(source, { value: each, path: at, rule: own, indent: `${indent}  ` })
    } else {
      let mark = head
      for (const { line: inner, text } of writeLines(source, { value: each, path: at, rule: own, indent: `${indent}  ` })) {
        yield { line: inner, text: mark === '' ? text : `${indent}${mark}${text.slice(indent.length + 2)}` }
        mark = ''
      }
    }
  }
}

const scalar = (value: Json): string => (typeof value === 'string' ? plain(value) : JSON.stringify(value))

/** Quoted where YAML might read it as something else, or it would take more than a line. */
function plain(text: string): string {
  return /^(?!(?:true|false|null|yes|no|on|off|~)$)[A-Za-z_$/.][\w$/.{}@*+ ()-]*(?::[\w$/.{}@*+-]+)*$/i.test(text) && !text.endsWith(' ')
    ? text
    : JSON.stringify(text)
}
