/** Numbers, constants and escapes, as JSON writes them. */

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LOOSE = /^([+-]?)(\d*)\.?(\d*)$/
const PART_OF_NUMBER = /^[+-]?\d*\.?\d*(?:[eE][+-]?\d*)?$/

const CONSTANTS: Readonly<Record<string, string>> = {
  true: 'true',
  false: 'false',
  null: 'null',
  True: 'true',
  False: 'false',
  None: 'null',
  undefined: 'null',
  NaN: 'null',
}
export const CONSTANT_NAMES: readonly string[] = Object.keys(CONSTANTS)

/** The literal that a word stands for; undefined where it is a text without quotes. */
export function healLiteral(word: string): string | undefined {
  if (NUMBER.test(word)) return word
  const constant = Object.hasOwn(CONSTANTS, word) ? CONSTANTS[word] : undefined
  if (constant) return constant
  const [, sign, whole, share] = LOOSE.exec(word) ?? []
  if (whole === undefined || (whole === '' && share === '') || /^0\d/.test(whole)) return undefined
  return `${sign === '-' ? '-' : ''}${whole || '0'}${share ? `.${share}` : ''}`
}

/** The constant that a word of two letters or more begins, at which the answer breaks off: quoted, it would be a text in its place. */
export function halfConstant(word: string): string | undefined {
  return word.length < 2 ? undefined : ['true', 'false', 'null'].find((one) => one.startsWith(word))
}

/** True where more characters could still make a literal of it. */
export function mayBeLiteral(word: string): boolean {
  return PART_OF_NUMBER.test(word) || CONSTANT_NAMES.some((one) => one.startsWith(word))
}

/** A control character as JSON writes it within a text. */
export function escaped(unit: string): string {
  return JSON.stringify(unit).slice(1, -1)
}

/**
 * The escape that begins with the backslash at `at`, and what JSON writes for it.
 * @returns undefined where it is not whole yet.
 */
export function escapeAt(text: string, at: number, ended: boolean): { length: number; written: string } | undefined {
  const unit = text[at + 1]
  if (unit === undefined) return ended ? { length: 1, written: '\\\\' } : undefined
  if (unit === 'u') {
    const digits = text.slice(at + 2, at + 6)
    if (/^[0-9a-fA-F]{4}$/.test(digits)) return { length: 6, written: `\\u${digits}` }
    if (digits.length < 4 && /^[0-9a-fA-F]*$/.test(digits) && !ended) return undefined
    return { length: 2, written: '\\\\u' }
  }
  if ('"\\/bfnrt'.includes(unit)) return { length: 2, written: text.slice(at, at + 2) }
  if (unit === "'" || unit === '`') return { length: 2, written: unit }
  return { length: 1, written: '\\\\' }
}
