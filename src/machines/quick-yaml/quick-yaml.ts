/**
 * A fast reader of the plain part of YAML in which large catalogues are written: block and flow collections of one line,
 * plain and simply quoted scalars, comments. It knows no positions, and gives up on whatever it is not sure of.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { MACHINES_ON } from '../switch.ts'

interface Line {
  readonly indent: number
  /** Without the indentation and a comment at its end. */
  readonly text: string
}

/** Thrown, and caught here alone: the whole file is left to the full parser. */
const UNSURE = new Error('not plain enough')
const DEEPEST = 20
/** Tabs, returns and the like have rules of their own. */
const UNUSUAL = /[^\n -~\u00a1-\u1fff\u2010-\u2027\u2030-\ud7ff]/

/** @returns undefined where the full parser has to read the text; else exactly what that would make of it. */
export function quickYaml(text: string): Json | undefined {
  // A variable has to be expanded, and the place of its text be known.
  if (!MACHINES_ON || text.includes('${') || UNUSUAL.test(text)) return undefined
  try {
    const reader = new Reader(splitLines(text))
    const value = reader.block(0, 0)
    return reader.ended ? value : undefined
  } catch (error) {
    if (error === UNSURE) return undefined
    throw error
  }
}

function unsure(): never {
  throw UNSURE
}

function splitLines(text: string): Line[] {
  const lines: Line[] = []
  for (const raw of text.split('\n')) {
    let indent = 0
    while (raw.charCodeAt(indent) === SPACE) indent++
    if (indent === raw.length || raw.charCodeAt(indent) === HASH) continue
    if (indent === 0 && /^(---|\.\.\.|%)/.test(raw)) unsure()
    lines.push({ indent, text: withoutComment(raw.slice(indent)) })
  }
  return lines
}

const SPACE = 0x20
const HASH = 0x23

/** A `#` begins a comment behind a space, unless it stands in quotes: that is for the full parser. */
function withoutComment(text: string): string {
  const at = text.indexOf(' #')
  if (at < 0) return text.trimEnd()
  const before = text.slice(0, at)
  if (count(before, '"') % 2 !== 0 || count(before, "'") % 2 !== 0) unsure()
  return before.trimEnd()
}

function count(text: string, sign: string): number {
  let found = 0
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) found++
  return found
}

/** `key:`, or `key: value`; a key is plain or in double quotes. */
const ENTRY = /^(?:"([^"\\]*)"|([A-Za-z0-9_~][\w.+/@~-]*(?::[\w.+-]+)*)):(?: +(.*))?$/

class Reader {
  private readonly lines: Line[]
  private at = 0

  constructor(lines: Line[]) {
    this.lines = lines
  }

  get ended(): boolean {
    return this.at === this.lines.length
  }

  /** Value that begins at this line: a mapping or a list, all of whose entries have its indentation. */
  block(least: number, depth: number): Json {
    const line = this.lines[this.at]
    if (line === undefined || line.indent < least || depth > DEEPEST) unsure()
    return line.text.startsWith('- ') ? this.list(line.indent, depth) : this.mapping(line.indent, depth)
  }

  private mapping(indent: number, depth: number): JsonObject {
    const object: JsonObject = Object.create(null) as JsonObject
    for (let line = this.lines[this.at]; line !== undefined && line.indent === indent; line = this.lines[this.at]) {
      const [, quoted, word, value] = ENTRY.exec(line.text) ?? unsure()
      const key = quoted ?? parseKey(word)
      if (key in object) unsure()
      this.at++
      object[key] = value === undefined || value === '' ? this.nested(indent, depth) : scalarOrFlow(value)
    }
    this.expectDedent(indent)
    return object
  }

  /** The value of a key that has none on its line. */
  private nested(indent: number, depth: number): Json {
    const next = this.lines[this.at]
    if (next === undefined || next.indent <= indent) unsure()
    return this.block(indent + 1, depth + 1)
  }

  private list(indent: number, depth: number): Json[] {
    const items: Json[] = []
    for (let line = this.lines[this.at]; line !== undefined && line.indent === indent; line = this.lines[this.at]) {
      if (!line.text.startsWith('- ')) unsure()
      const rest = line.text.slice(2).trimStart()
      if (rest === '' || rest.startsWith('- ')) unsure()
      if (ENTRY.test(rest)) {
        // A mapping that begins on the line of its dash stands in the column behind it.
        this.lines[this.at] = { indent: indent + line.text.length - rest.length, text: rest }
        items.push(this.block(indent + 1, depth + 1))
      } else {
        this.at++
        items.push(scalarOrFlow(rest))
      }
    }
    this.expectDedent(indent)
    return items
  }

  private expectDedent(indent: number): void {
    const next = this.lines[this.at]
    if (next !== undefined && next.indent > indent) unsure()
  }
}

function scalarOrFlow(text: string): Json {
  const first = text[0]
  if (first !== '{' && first !== '[') return scalar(text)
  const flow = new Flow(text)
  const value = flow.value(0)
  return flow.ended ? value : unsure()
}

/** Ends of a plain scalar within brackets. */
const PLAIN_IN_FLOW = /[^,[\]{}"'#]*/y
const QUOTED_IN_FLOW = /"[^"\\]*"/y
const KEY_IN_FLOW = /(?:"([^"\\]*)"|([A-Za-z_][\w-]*)): +/y
const BLANKS = / */y

/** Brackets that open and close on one line. */
class Flow {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  get ended(): boolean {
    return this.at === this.text.length
  }

  value(depth: number): Json {
    if (depth > DEEPEST) unsure()
    const first = this.text[this.at]
    if (first === '{') return this.mapping(depth)
    if (first === '[') return this.list(depth)
    return scalar(this.take(first === '"' ? QUOTED_IN_FLOW : PLAIN_IN_FLOW)[0].trimEnd())
  }

  private mapping(depth: number): JsonObject {
    const object: JsonObject = Object.create(null) as JsonObject
    this.entries('}', () => {
      const [, quoted, word] = this.take(KEY_IN_FLOW)
      const key = quoted ?? parseKey(word)
      if (key in object) unsure()
      object[key] = this.value(depth + 1)
    })
    return object
  }

  private list(depth: number): Json[] {
    const items: Json[] = []
    this.entries(']', () => {
      items.push(this.value(depth + 1))
    })
    return items
  }

  /** Reads what stands between commas up to the closing bracket; a comma before it is not plain enough. */
  private entries(close: string, read: () => void): void {
    this.at++
    this.take(BLANKS)
    if (this.text[this.at] === close) {
      this.at++
      return
    }
    for (;;) {
      read()
      this.take(BLANKS)
      const sign = this.text[this.at++]
      if (sign === close) return
      if (sign !== ',') unsure()
      this.take(BLANKS)
    }
  }

  private take(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text) ?? unsure()
    this.at += found[0].length
    return found
  }
}

/** Words that YAML reads as something else than text. */
const NOT_TEXT = /^(?:null|true|false)$/i
const WORDS = /^[A-Za-z][\w.+/@~()-]*(?::[\w.+/-]+)*(?: [\w.+/@~()-]+(?::[\w.+/-]+)*)*$/
const WHOLE = /^(?:0|[1-9]\d{0,14})$/
const DECIMAL = /^(?:0|[1-9]\d{0,8})\.\d{1,6}$/
const DAY = /^\d{4}-\d{2}-\d{2}$/

function scalar(text: string): Json {
  const first = text[0]
  if (first === '"')
    return text.length > 1 && text.indexOf('"', 1) === text.length - 1 && !text.includes('\\') ? text.slice(1, -1) : unsure()
  if (WORDS.test(text)) return NOT_TEXT.test(text) ? (/^(?:true|True|TRUE)$/.test(text) ? true : text === 'false' ? false : unsure()) : text
  if (WHOLE.test(text) || DECIMAL.test(text)) return Number(text)
  return DAY.test(text) ? text : unsure()
}

/** A key that could be read as a number or as nothing is not plain enough. */
function parseKey(word: string | undefined): string {
  if (word === undefined || NOT_TEXT.test(word) || word === '~' || (/^[0-9]/.test(word) && !word.includes('/'))) unsure()
  return word
}
