/** Entries of the files of a configuration, each with its place. Secrets are shown by their references, or not at all. */
import { isObject, type Json } from '../core/json.ts'
import type { WrittenText } from './config.ts'
import { AS_WRITTEN } from './expand.ts'
import { type Path, pathText } from './problems.ts'
import { catalogSchema, configSchema } from './schema/root.ts'
import { Source } from './source.ts'
import type { Rule } from './validate.ts'

export interface WrittenEntry {
  /** Such as `providers.local.base_url`. */
  path: string
  value: Json
  /** True where the value is a secret: then it is its references, or `***`. */
  secret: boolean
  file: string
  line: number
  column: number
}

export const HIDDEN = '***'
const LONGEST = 2000

/** Names of settings whose text is a secret, whatever the schema says of them: those of an operator's own plugins have none. */
const SECRET_NAME = /(^|_)(key|secrets?|tokens?|password|passphrase|passwd|credentials?|signature|authorization|cookie)$/i
/** Mappings in which any text may be a secret. */
const SECRET_HOLDERS: ReadonlySet<string | number> = new Set(['headers', 'query', 'credential', 'credentials', 'env'])
/** Beginnings of secrets that are known by them, wherever they stand. */
const SECRET_TEXT = /\b(?:sk-|pk-lf-|AKIA|ASIA|ghp_|github_pat_|glpat-|xox[a-z]-|AIza|eyJ|whsec_|hf_)[\w./+=-]{8,}/g
const REFERENCE = /\$\{([^}]*)\}/g

/** Entries of the files in their order. @param prefix only those whose path begins with it. @param most at most so many are returned. */
export function writtenEntries(texts: readonly WrittenText[], prefix: string, most: number): { entries: WrittenEntry[]; leftOut: number } {
  const entries: WrittenEntry[] = []
  let leftOut = 0
  for (const [index, { file, text }] of texts.entries()) {
    const source = new Source(file, text, AS_WRITTEN)
    for (const { path, value, rule } of leaves(source.data, [], (index === 0 ? configSchema : catalogSchema) as Rule)) {
      const shown = pathText(path)
      if (!shown.startsWith(prefix)) continue
      if (entries.length >= most) {
        leftOut++
        continue
      }
      entries.push({ path: shown, ...shownValue(value, path, rule), file, ...source.pathPlace(path) })
    }
  }
  return { entries, leftOut }
}

interface Leaf {
  path: Path
  value: Json
  /** Absent where the schema says nothing of it. */
  rule: Rule | undefined
}

function* leaves(value: Json, path: Path, rule: Rule | undefined): Generator<Leaf> {
  const findInnerRule = innerRules(rule, value)
  if (Array.isArray(value) && value.length > 0) {
    for (const [i, each] of value.entries()) yield* leaves(each, [...path, i], findInnerRule(i))
  } else if (isObject(value) && Object.keys(value).length > 0) {
    for (const [name, each] of Object.entries(value)) yield* leaves(each ?? null, [...path, name], findInnerRule(name))
  } else yield { path, value, rule: matchingBranch(rule, value) }
}

/** The rule of what stands in a value at a step. */
export function innerRules(rule: Rule | undefined, value: Json): (step: string | number) => Rule | undefined {
  const { items, properties = {}, patternProperties = {} } = matchingBranch(rule, value) ?? {}
  const [others] = Object.values(patternProperties)
  return (step) => (typeof step === 'number' ? items : Object.hasOwn(properties, step) ? properties[step] : others)
}

/** @param rule of the place. */
export function shownValue(value: Json, path: Path, rule: Rule | undefined): Pick<WrittenEntry, 'value' | 'secret'> {
  if (typeof value === 'string' && (isSecret(path, matchingBranch(rule, value)) || isHiddenWord(value, path)))
    return { value: shownReferences(value), secret: true }
  return { value: open(value), secret: false }
}

function matchingBranch(rule: Rule | undefined, value: Json): Rule | undefined {
  return rule?.anyOf ? rule.anyOf.find((each) => (each.type === 'object') === isObject(value)) : rule
}

function isSecret(path: Path, rule: Rule | undefined): boolean {
  const name = path.findLast((step) => typeof step === 'string')
  if (rule?.enum !== undefined || rule?.const !== undefined) return false
  return rule?.type === undefined || rule.secret === true || SECRET_NAME.test(String(name)) || path.some((step) => SECRET_HOLDERS.has(step))
}

/** Settings whose entries are the words of a command of the operator's: any but the first may be a secret, or hold one. */
const COMMANDS: ReadonlySet<string | number | undefined> = new Set(['command', 'stop'])
/** Words that say nothing: names of options without a value, and what is filled in. */
const PLAIN_WORD = /^(?:-[A-Za-z]|--[a-z][a-z-]*|\{[a-z]+\})$/

function isHiddenWord(word: string, path: Path): boolean {
  const [name, place] = path.slice(-2)
  return COMMANDS.has(name) && typeof place === 'number' && place > 0 && !PLAIN_WORD.test(word)
}

/** The default of a variable is a value, too. */
function shownReferences(text: string): string {
  const found = [...text.matchAll(REFERENCE)].map(([, inner = '']) => {
    const [, name, more = ''] = /^([^:?-]+(?::[^-].*)?)(.*)$/s.exec(inner.replace(/^env:/, '')) ?? []
    return name === undefined ? HIDDEN : `\${${name}${more.startsWith(':-') ? `:-${HIDDEN}` : more}}`
  })
  if (found.length === 0) return HIDDEN
  return text.replace(REFERENCE, '') === '' ? found.join('') : `${HIDDEN}${found.join(HIDDEN)}`
}

/** The path of an address, whose segments may be references. */
const ADDRESS_PATH = /(:\/\/(?:\$\{[^}]*\}|[^\s/?#}])*)((?:\/(?:\$?\{[^}]*\}|[^\s/?#}])*)+)(#[^\s}]*)?/g
/** Versions of APIs, and words of their paths, by which an operator knows an address. Any other segment may be a key. */
const KNOWN_SEGMENT =
  /^(?:v\d{1,2}(?:(?:alpha|beta)\d{0,2})?|api|openai|anthropic|inference|compatible-mode|serverless|engines|models|deployments|projects|locations|publishers|services|hooks?|webhooks?|traces|otlp|chat|completions|messages|responses|embeddings|search|rerank|moderations?|analyze|\{[a-z]+\})?$/
/** Other form of the first segment: a short word. */
const FIRST_SEGMENT = /^[a-z][a-z_-]{0,15}$/

function openPath(path: string): string {
  const segments = path.split(/\/(?![^{]*\})/)
  return segments
    .map((segment, place) =>
      KNOWN_SEGMENT.test(segment) || (place === 1 && FIRST_SEGMENT.test(segment)) ? segment : shownReferences(segment),
    )
    .join('/')
}

/** An address may hold a password, its query a key, and so may its path, as those of webhooks do. */
function open(value: Json): Json {
  if (typeof value !== 'string') return value
  const shown = value
    .replace(/\/\/[^/\s]*@/g, `//${HIDDEN}@`)
    .replace(/(:\/\/[^\s?]*\?)[^\s}]+/g, `$1${HIDDEN}`)
    .replace(ADDRESS_PATH, (_, origin: string, path: string, fragment) => origin + openPath(path) + (fragment ? `#${HIDDEN}` : ''))
    .replace(SECRET_TEXT, HIDDEN)
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown
}
