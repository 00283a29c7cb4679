/** International bank account numbers: the country's own length and layout, and the check digits (ISO 13616, mod 97). */
import { type Detector, type Match, Matches } from '../detector.ts'
import { DASH, isDigit, isLetter, SPACE } from './characters.ts'

/** Characters behind the check digits: n digits, a letters, c either. */
const LAYOUTS: Readonly<Record<string, string>> = {
  AD: 'n8c12',
  AE: 'n19',
  AL: 'n8c16',
  AT: 'n16',
  AZ: 'a4c20',
  BA: 'n16',
  BE: 'n12',
  BG: 'a4n6c8',
  BH: 'a4c14',
  BR: 'n23a1c1',
  BY: 'c4n4c16',
  CH: 'n5c12',
  CR: 'n18',
  CY: 'n8c16',
  CZ: 'n20',
  DE: 'n18',
  DK: 'n14',
  DO: 'c4n20',
  EE: 'n16',
  EG: 'n25',
  ES: 'n20',
  FI: 'n14',
  FO: 'n14',
  FR: 'n10c11n2',
  GB: 'a4n14',
  GE: 'a2n16',
  GI: 'a4c15',
  GL: 'n14',
  GR: 'n7c16',
  GT: 'c24',
  HR: 'n17',
  HU: 'n24',
  IE: 'a4n14',
  IL: 'n19',
  IQ: 'a4n15',
  IS: 'n22',
  IT: 'a1n10c12',
  JO: 'a4n4c18',
  KW: 'a4c22',
  KZ: 'n3c13',
  LB: 'n4c20',
  LC: 'a4c24',
  LI: 'n5c12',
  LT: 'n16',
  LU: 'n3c13',
  LV: 'a4c13',
  LY: 'n21',
  MC: 'n10c11n2',
  MD: 'c20',
  ME: 'n18',
  MK: 'n3c10n2',
  MR: 'n23',
  MT: 'a4n5c18',
  MU: 'a4n19a3',
  NL: 'a4n10',
  NO: 'n11',
  PK: 'a4c16',
  PL: 'n24',
  PS: 'a4c21',
  PT: 'n21',
  QA: 'a4c21',
  RO: 'a4c16',
  RS: 'n18',
  SA: 'n2c18',
  SC: 'a4n20a3',
  SD: 'n14',
  SE: 'n20',
  SI: 'n15',
  SK: 'n20',
  SM: 'a1n10c12',
  ST: 'n21',
  SV: 'a4n20',
  TL: 'n19',
  TN: 'n20',
  TR: 'n6c16',
  UA: 'n6c19',
  VA: 'n18',
  VG: 'a4n16',
  XK: 'n16',
}

const CLASSES: Readonly<Record<string, string>> = { n: '[0-9]', a: '[A-Z]', c: '[A-Z0-9]' }

interface Layout {
  /** Of the whole number. */
  readonly length: number
  readonly form: RegExp
}

const layouts = new Map<string, Layout>(
  Object.entries(LAYOUTS).map(([country, layout]) => {
    const parts = [...layout.matchAll(/([nac])(\d+)/g)]
    const form = parts.map(([, kind = '', count]) => `${CLASSES[kind]}{${count}}`).join('')
    const length = parts.reduce((sum, [, , count]) => sum + Number(count), 4)
    return [country, { length, form: new RegExp(`^[A-Z]{2}[0-9]{2}${form}$`) }]
  }),
)

const START = /(?<![A-Za-z0-9])[A-Za-z]{2}[ -]?[0-9]{2}/g

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  START.lastIndex = from
  for (let hit = START.exec(text); hit !== null; hit = START.exec(text)) {
    const layout = layouts.get(hit[0].slice(0, 2).toUpperCase())
    const end = layout ? ibanEnd(text, hit.index, layout) : -1
    if (end !== -1) {
      matches.add(hit.index, end)
      START.lastIndex = end
    }
  }
  return matches.list
}

/** @returns the offset behind the number; -1 where there is none. */
function ibanEnd(text: string, start: number, { length, form }: Layout): number {
  let number = ''
  let grouped = false
  let at = start
  for (; number.length < length; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit) || isLetter(unit)) number += text[at]
    else if (unit === SPACE || unit === DASH) grouped = true
    else return -1
    if (at - start > length * 2) return -1
  }
  const behind = text.charCodeAt(at)
  if (isDigit(behind) || isLetter(behind)) return -1
  const upper = number.toUpperCase()
  // Words between spaces must not pass for letters of an account.
  if (grouped && upper !== number) return -1
  return form.test(upper) && mod97(upper) ? at : -1
}

/** ISO/IEC 7064 MOD 97-10 over the number with its first four characters moved to the end. */
export function mod97(iban: string): boolean {
  let rest = 0
  for (const char of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(char, 36)
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}

const shapes = ['\\b[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{11,31}(?s:.)?', '\\b[A-Z]{2}[ -]?[0-9]{2}(?:[ -]{0,4}[A-Z0-9]){11,31}(?s:.)?']

export const iban: Detector = { find, shapes, digits: true }
