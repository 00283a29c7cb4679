/** A YAML file as plain data together with the position of every value and key. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type YAMLError } from 'yaml'
import type { Json, JsonObject } from '../core/json.ts'
import { quickYaml } from '../machines/quick-yaml/quick-yaml.ts'
import { AS_WRITTEN, type Environment, expand } from './expand.ts'
import { MAX_PROBLEMS, type Path, type Problem, pathText } from './problems.ts'

/** Bounds that no honest file meets: they end alias bombs and endless nesting. */
const MAX_NODES = 100_000
const DEEPEST = 40
const MAX_OPEN_BRACKETS = 1000
const LONGEST = 4_000_000
/** From so many characters on the quick reader is tried first: positions are then found when a problem needs them. */
const QUICK_FROM = 100_000

interface Place {
  value: number
  key: number
}

export class Source {
  readonly file: string
  readonly data: Json
  readonly problems: Problem[] = []
  /** Settings that can be served, and are hardly meant. */
  readonly warnings: Problem[] = []
  /** Paths of strings that hold the text of a variable. */
  readonly expanded = new Set<string>()
  /** References to secrets, each with the path of a string that has it. */
  readonly references = new Map<string, Path>()
  /** Paths of strings whose `${NAME?}` is not set, with that name. */
  readonly unset = new Map<string, string>()
  /** Of these, those that a preset names, and not the file itself. */
  private readonly unsetByPreset = new Set<string>()
  /** Withheld strings, by what they hold, with their paths: for all rules those values are unknown. */
  readonly withheld: { path: Path; what: string }[] = []
  /** True where the text is no YAML: then there is no data to check. */
  unreadable = false
  /** Paths of strings with a variable that cannot be expanded: their problem is reported, and their value is unknown. */
  private readonly unknown = new Set<string>()
  private rules = false
  /** Paths of values that cannot be used, or that are missing, whatever the rest of the file says. */
  private readonly wrong = new Set<string>()
  /** Paths of mappings with a key that is not known: it may be what a rule misses there. */
  private readonly misnamed = new Set<string>()
  private readonly lines = new LineCounter()
  private readonly places = new Map<string, Place>()
  private readonly env: Environment
  private readonly isSkippable: (path: Path) => boolean
  private readonly anchors = new Map<string, unknown>()
  private nodes = 0
  private mostNodes = MAX_NODES
  /** Read by the quick reader, and not yet by the full parser. */
  private unlocated: string | undefined

  /** @param isSkippable true for a path where `${NAME?}` may stand. */
  constructor(file: string, text: string, env: Environment, isSkippable = isInSkippableEntry) {
    this.file = file
    this.env = env
    this.isSkippable = isSkippable
    const quick = text.length >= QUICK_FROM && text.length <= LONGEST ? quickYaml(text) : undefined
    this.unlocated = quick === undefined ? undefined : text
    this.data = quick === undefined ? this.parse(text) : quick
  }

  /** From here on problems are those of rules between parts: a value that cannot be used has no other problem. */
  beginRules(): void {
    this.rules = true
  }

  /** Runs one check of the rules: what fails in a file with mistakes hides no other check. */
  check(rule: () => void): void {
    try {
      rule()
    } catch (thrown) {
      if (this.problems.length === 0) throw thrown
    }
  }

  /** Records a problem at the value of a path, or at its key; at the nearest parent where the path does not exist. */
  report(path: Path, message: string, at: 'value' | 'key' = 'value'): void {
    if (this.rules && this.isWrong(path)) return
    const place = this.nearest(path)
    if (!this.rules && at === 'value') this.wrong.add(placeKey(path))
    this.reportAt(place?.[at] ?? 0, path, message)
  }

  /** Records what is served as it stands, and is hardly meant. */
  warn(path: Path, message: string): void {
    this.warnings.push({ file: this.file, ...this.pathPlace(path), path: pathText(path), message })
  }

  /** Marks a value as unknown without a problem: no rule finds fault with it. */
  leaveUnchecked(path: Path, what: string): void {
    this.withheld.push({ path, what })
    this.unknown.add(placeKey(path))
    this.wrong.add(placeKey(path))
  }

  /** Beginning of the value of a path, or of its key; of its nearest parent's, if the path does not exist. */
  pathPlace(path: Path, at: 'value' | 'key' = 'value'): { line: number; column: number } {
    const place = this.nearest(path)
    const { line, col } = this.lines.linePos(place?.[at] ?? 0)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  /** Records that a mapping has a key which it must not have. */
  reportUnknown(path: Path, message: string): void {
    this.misnamed.add(placeKey(path.slice(0, -1)))
    this.report(path, message, 'key')
  }

  /** Records that a mapping lacks a key. Of rules it records none that the mapping may have. */
  reportMissing(path: Path, key: string, message: string): void {
    if (this.rules && this.mayHave(path, key)) return
    this.report(path, message, 'key')
    if (!this.rules) this.wrong.add(placeKey([...path, key]))
  }

  /** True for a mapping with a key that is not known. */
  isMisnamed(path: Path): boolean {
    return this.misnamed.has(placeKey(path))
  }

  /** True where a mapping may have a key that is not in the data: its value cannot be used, or its name is not known. */
  mayHave(path: Path, key: string): boolean {
    return this.isMisnamed(path) || this.isWrong([...path, key])
  }

  /**
   * Takes over what is known of strings of another source: those that hold a variable, and those whose variable is not set.
   * @param at where the data of the other one stand in this one. @param from where they stood. @param except members left out.
   */
  adopt(at: Path, other: Source, from: Path, except: readonly string[]): void {
    const prefix = placeKey(from)
    const here = (key: string): string | undefined => {
      if (!isWithin(key, prefix)) return undefined
      const rest = key.slice(prefix.length)
      return except.includes(rest.split('\0')[1] ?? '') ? undefined : placeKey(at) + rest
    }
    for (const key of other.expanded) {
      const own = here(key)
      if (own !== undefined) this.expanded.add(own)
    }
    for (const [key, name] of other.unset) {
      const own = here(key)
      if (own === undefined) continue
      this.unset.set(own, name)
      this.unsetByPreset.add(own)
    }
    for (const { path, what } of other.withheld)
      if (isWithin(placeKey(path), prefix) && !except.includes(String(path[from.length])))
        this.leaveUnchecked([...at, ...path.slice(from.length)], what)
    for (const { path, message } of other.problems) this.report(at, `${message} (${path} of the preset)`)
  }

  /** True where a value came, in whole or in part, from the environment: it must not be quoted. */
  isExpanded(path: Path): boolean {
    return this.expanded.has(placeKey(path))
  }

  /** True where the value of a string is not known, since a variable of it is not set. */
  isUnset(path: Path): boolean {
    const key = placeKey(path)
    return this.unset.has(key) || this.unknown.has(key)
  }

  /** True where the value of the path, or one that holds it, cannot be used. */
  isWrong(path: Path): boolean {
    if (this.wrong.size === 0) return false
    for (let length = path.length; length >= 0; length--) if (this.wrong.has(placeKey(path.slice(0, length)))) return true
    return false
  }

  /** True if a string under the path has an unset `${NAME?}`. */
  isSkipped(path: Path): boolean {
    const prefix = placeKey(path)
    for (const key of this.unset.keys()) if (isWithin(key, prefix)) return true
    return false
  }

  /** Variables of strings under the path that are not set; those that the file leaves to a preset, or all. */
  variablesMissing(path: Path, whose: 'all' | 'preset' = 'all'): string[] {
    const prefix = placeKey(path)
    const isMeant = (key: string): boolean => isWithin(key, prefix) && (whose === 'all' || this.unsetByPreset.has(key))
    return [...new Set([...this.unset].flatMap(([key, name]) => (isMeant(key) ? [name] : [])))]
  }

  private nearest(path: Path): Place | undefined {
    const unlocated = this.unlocated
    this.unlocated = undefined
    if (unlocated !== undefined) this.parse(unlocated)
    let place = this.places.get(placeKey(path))
    for (let up = path.length - 1; place === undefined && up >= 0; up--) place = this.places.get(placeKey(path.slice(0, up)))
    return place
  }

  private reportAt(offset: number, path: Path, message: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return
    const { line, col } = this.lines.linePos(offset)
    const problem = {
      file: this.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: visible(pathText(path)),
      message: visible(message),
    }
    const last = this.problems.at(-1)
    // The parser stumbles more than once over one mistake.
    if (path.length === 0 && last?.line === problem.line && last.column === problem.column) return
    this.problems.push(problem)
  }

  /** A problem of the text itself. */
  private cannotRead(offset: number, path: Path, message: string): void {
    this.unreadable = true
    this.reportAt(offset, path, message)
  }

  private parse(text: string): Json {
    // Without aliases there are never more values than characters.
    if (!text.includes('*')) this.mostNodes = Math.max(MAX_NODES, text.length)
    if (text.length > LONGEST) {
      this.cannotRead(0, [], `the file has ${text.length} characters, expected at most ${LONGEST}`)
      return null
    }
    const deep = unclosedAt(text)
    if (deep >= 0) {
      for (let at = text.indexOf('\n'); at >= 0 && at < deep; at = text.indexOf('\n', at + 1)) this.lines.addNewLine(at + 1)
      this.cannotRead(deep, [], `more than ${MAX_OPEN_BRACKETS} open brackets, expected a flatter file`)
      return null
    }
    try {
      const document = parseDocument(text, {
        lineCounter: this.lines,
        prettyErrors: false,
        strict: true,
        uniqueKeys: true,
        logLevel: 'error',
      })
      for (const error of [...document.errors, ...document.warnings]) this.cannotRead(error.pos[0], [], syntaxMessage(error))
      if (this.problems.length > 0) return null
      if (document.contents === null) {
        this.cannotRead(0, [], 'the file is empty, expected a configuration')
        return null
      }
      return this.read(document.contents, [], [])
    } catch (error) {
      // A stack overflow of the parser on absurd nesting is the one thing that it throws.
      this.cannotRead(0, [], error instanceof RangeError ? 'the file is nested too deeply' : 'the file cannot be read as YAML')
      return null
    }
  }

  /** `within` holds the nodes above, so that an alias to one of them is seen. */
  private read(node: unknown, path: Path, within: readonly unknown[]): Json {
    const offset = (node as Node | null)?.range?.[0] ?? this.places.get(placeKey(path))?.value ?? 0
    if (!this.places.has(placeKey(path))) this.places.set(placeKey(path), { value: offset, key: offset })
    if (++this.nodes > this.mostNodes || within.length > DEEPEST) {
      const what =
        within.length > DEEPEST ? `nested more than ${DEEPEST} levels deep` : `more than ${this.mostNodes} values once aliases are expanded`
      if (this.nodes !== Number.POSITIVE_INFINITY) this.cannotRead(offset, path, `${what}, expected a smaller file`)
      this.nodes = Number.POSITIVE_INFINITY
      return null
    }
    const anchor = (node as { anchor?: string } | null)?.anchor
    if (anchor !== undefined) this.anchors.set(anchor, node)
    if (isAlias(node)) return this.readAlias(node, path, within)
    if (isScalar(node)) return this.readScalar(node.value, path)
    if (isSeq(node)) return node.items.map((item, index) => this.readChild(item, [...path, index], [...within, node]))
    if (isMap(node)) return this.readMap(node.items, path, [...within, node])
    return null
  }

  private readChild(node: unknown, path: Path, within: readonly unknown[]): Json {
    return this.nodes > this.mostNodes ? null : this.read(node, path, within)
  }

  private readAlias(node: { source: string; range?: readonly number[] | null }, path: Path, within: readonly unknown[]): Json {
    const target = this.anchors.get(node.source)
    if (target === undefined || within.includes(target)) {
      this.cannotRead(node.range?.[0] ?? 0, path, target ? 'an alias that contains itself' : 'an alias without an anchor before it')
      return null
    }
    return this.read(target, path, [...within, node])
  }

  private readMap(pairs: readonly Pair[], path: Path, within: readonly unknown[]): JsonObject {
    const object: JsonObject = Object.create(null) as JsonObject
    for (const pair of pairs) {
      const keyOffset = (pair.key as Node | null)?.range?.[0] ?? 0
      if (!isScalar(pair.key) || pair.key.value === null || typeof pair.key.value === 'object') {
        this.cannotRead(keyOffset, path, 'expected a key that is plain text')
        continue
      }
      const key = String(pair.key.value)
      const at = [...path, key]
      this.places.set(placeKey(at), { value: (pair.value as Node | null)?.range?.[0] ?? keyOffset, key: keyOffset })
      object[key] = this.readChild(pair.value, at, within)
    }
    return object
  }

  private readScalar(value: unknown, path: Path): Json {
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
    if (typeof value !== 'string') {
      this.report(path, 'expected text, a number, true or false')
      return null
    }
    if (this.env === AS_WRITTEN) return value
    const [, name] = BARE_VARIABLE.exec(value) ?? []
    if (name !== undefined) this.warn(path, `sent as it stands, expected the variable in braces: \${${name}}`)
    const result = expand(value, this.env)
    for (const what of result.withheld ?? []) this.leaveUnchecked(path, what)
    for (const reference of result.references ?? []) this.references.set(reference, path)
    if (result.problem !== undefined) {
      this.unknown.add(placeKey(path))
      this.report(path, result.problem)
    }
    if (result.expanded || result.problem !== undefined) this.expanded.add(placeKey(path))
    if (result.unset !== undefined) {
      this.unset.set(placeKey(path), result.unset)
      if (!this.isSkippable(path))
        this.report(
          path,
          `the environment variable ${result.unset} is not set; the form with ? works only in an entry of providers, auth.keys, engines, ocr or moderation`,
        )
    }
    return result.text
  }
}

/** A whole value that other tools take for a variable. */
const BARE_VARIABLE = /^\$([A-Za-z_]\w*)$/

/** Control and format characters of the file must not reach a terminal. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '?')
}

/** True inside an entry that is left out as a whole when a `${NAME?}` is not set. */
function isInSkippableEntry(path: Path): boolean {
  if (path[0] === 'providers') return path.length > 2
  if (path[0] === 'plugins') {
    if (path[1] !== 'defaults') return false
    if (path[2] === 'moderation') return path[3] === 'key'
    return path.length > (path[3] === 'engines' ? 5 : path[3] === 'ocr' ? 4 : Number.POSITIVE_INFINITY)
  }
  return path[0] === 'auth' && path[1] === 'keys' && path.length > 3
}

/** Offset of the bracket that opens one level too many, -1 if there is none: the parser takes seconds for such a file. */
function unclosedAt(text: string): number {
  let open = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '[' || char === '{') open++
    else if ((char === ']' || char === '}') && open > 0) open--
    if (open > MAX_OPEN_BRACKETS) return at
  }
  return -1
}

/** True where the first path is the second one, or lies under it. */
function isWithin(key: string, above: string): boolean {
  return key.startsWith(above) && (key.length === above.length || key[above.length] === '\0')
}

/** NUL never occurs in YAML text, so it can part the steps. */
function placeKey(path: Path): string {
  return path.length === 0 ? '' : `\0${path.join('\0')}`
}

const SYNTAX: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key occurs twice, expected it once',
  TAB_AS_INDENT: 'a tab, expected spaces',
  BAD_INDENT: 'bad indentation or a bracket that is not closed, expected entries of one level in one column',
  BAD_ALIAS: 'bad alias, expected the name of an anchor before it',
  BAD_DQ_ESCAPE: 'bad escape in a quoted text, expected a backslash only before what YAML escapes',
  BAD_SCALAR_START: 'text that begins with a reserved character, expected quotes around it',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping inside a line, expected it on lines of its own or in braces',
  MISSING_CHAR: 'a character is missing, expected a closing quote or bracket, a comma, or a space after a colon',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines, expected `key: value` on one line',
  MULTIPLE_DOCS: 'a second document, expected one',
  NON_STRING_KEY: 'expected a key that is plain text',
  TAG_RESOLVE_FAILED: 'an unknown tag, expected plain YAML',
  UNEXPECTED_TOKEN: 'unexpected text, expected `key: value`',
}

/** Our own words: the parser's may quote the file, and a file may hold secrets. */
function syntaxMessage(error: YAMLError): string {
  return SYNTAX[error.code] ?? 'bad YAML, expected `key: value`, lists and quoted text'
}
