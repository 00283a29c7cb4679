/** How a text differs from the running file, setting by setting: the API shows the entries of the running file, never its whole text. */
import { parseDocument } from 'yaml'

/** One written value of the running configuration. */
export interface Entry {
  /** Such as `providers.local.base_url`. */
  readonly path: string
  /** As written, with its variables; what is secret in it is `***`. */
  readonly value: unknown
  readonly secret: boolean
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface Configuration {
  readonly file: string
  /** With the catalogue files that it names. */
  readonly files: readonly string[]
  readonly entries: readonly Entry[]
  /** Entries beyond those. */
  readonly left_out: number
}

export interface Change {
  readonly path: string
  /** Undefined: it is not in the running file. */
  readonly was: string | undefined
  /** Undefined: it is not in the text. */
  readonly now: string | undefined
}

export interface Comparison {
  readonly changes: readonly Change[]
  /** Settings of both whose running value is not shown, or not whole. */
  readonly unseen: number
}

/** Of a long text the API shows the beginning. */
const LONGEST_VALUE = 2000
const HIDDEN = '***'

/** True where the entries of the file itself, which come before those of its catalogue files, are all there. */
export const isWhole = ({ file, entries, left_out: more }: Configuration): boolean => more === 0 || entries.at(-1)?.file !== file

/** @returns undefined where the text is no YAML. */
export function comparisonOf(text: string, { file, entries }: Configuration): Comparison | undefined {
  const written = new Map<string, unknown>()
  try {
    const document = parseDocument(text, { prettyErrors: false, logLevel: 'error' })
    if (document.errors.length > 0) return undefined
    collect(document.toJS(), '', written)
  } catch {
    // Nested too deeply, or too many aliases.
    return undefined
  }
  const changes: Change[] = []
  let unseen = 0
  for (const { path, value, file: of } of entries) {
    if (of !== file) continue
    const isIn = written.has(path)
    const now = written.get(path)
    written.delete(path)
    if (!isIn) changes.push({ path, was: shown(value), now: undefined })
    else if (isHidden(value)) unseen++
    else if (plain(now) !== plain(value)) changes.push({ path, was: shown(value), now: shown(now) })
  }
  for (const [path, value] of written) changes.push({ path, was: undefined, now: shown(value) })
  return { changes, unseen }
}

export const shown = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value))

const isHidden = (value: unknown): boolean => typeof value === 'string' && (value.includes(HIDDEN) || value.length > LONGEST_VALUE)

/** Of secrets the API writes `${env:NAME}` as `${NAME}`. */
const plain = (value: unknown): string => JSON.stringify(value).replaceAll('${env:', '${')

/** Every leaf with its path, as the API writes paths. */
function collect(value: unknown, path: string, found: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    if (path !== '') found.set(path, value)
  } else if (Array.isArray(value)) for (const [i, each] of value.entries()) collect(each, `${path}[${i}]`, found)
  else
    for (const [name, each] of Object.entries(value)) {
      const step = /^[\w-]+$/.test(name) ? `${path === '' ? '' : '.'}${name}` : `[${JSON.stringify(name)}]`
      collect(each, path + step, found)
    }
}
