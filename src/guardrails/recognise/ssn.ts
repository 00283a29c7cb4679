/** Social security numbers of the United States, by the rules of their issue. */
import { type Detector, type Match, Matches } from '../detector.ts'
import { wordsBefore } from './characters.ts'

const FORM = /(?<![\w.-])([0-9]{3})([- ]?)([0-9]{2})\2([0-9]{4})(?![\w]|[-.]\d)/g
/** Without separators nine digits are a number like any other, unless a word says what they are. */
const CUE = /\b(?:ssn|s\.s\.n|soc(?:ial)?\s+sec(?:urity)?)\b[^0-9]{0,24}$/i
/** Printed on specimens and in advertisements. */
const NEVER_ISSUED: ReadonlySet<string> = new Set(['078051120', '219099999', '457555462'])

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  FORM.lastIndex = from
  for (let hit = FORM.exec(text); hit !== null; hit = FORM.exec(text)) {
    const [whole, area, separator, group, serial] = hit
    if (area === undefined || group === undefined || serial === undefined || !isIssued(area, group, serial)) continue
    if (separator !== '-' && !CUE.test(wordsBefore(text, hit.index))) continue
    matches.add(hit.index, hit.index + whole.length)
  }
  return matches.list
}

/** Area 000, 666 and 900 to 999, group 00 and serial 0000 are never given. */
export function isIssued(area: string, group: string, serial: string): boolean {
  if (area === '000' || area === '666' || area >= '900' || group === '00' || serial === '0000') return false
  return !NEVER_ISSUED.has(area + group + serial)
}

const shapes = ['\\b[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}(?s:.){0,2}']

export const ssn: Detector = { find, shapes, digits: true }
