/** Telephone numbers: international (ITU-T E.164), those of North America, and national ones where the grouping or a word marks them. */
import { type Detector, type Match, Matches } from '../detector.ts'
import { DOT, isDigit, isWord, wordsBefore } from './characters.ts'

const FREE = '(?<![\\w.,+#/:=-]|[\\w.,:][ ]?\\()'
const DONE = '(?![\\w]|[-.,/:]\\d)'
/** Area and exchange begin with 2 to 9, and neither is one of the service codes N11. */
const AMERICA = new RegExp(
  `${FREE}(?:1[ .-]?)?(?:\\(([2-9][0-9]{2})\\) ?|([2-9][0-9]{2})([ .-]))([2-9][0-9]{2})([ .-]?)[0-9]{4}${DONE}`,
  'g',
)
/** A trunk zero, then groups as countries write them. */
const NATIONAL = new RegExp(`${FREE}(?:\\(0[0-9]{1,5}\\)|0[0-9]{1,5})(?:[ .\\u00a0/-]{1,3}[0-9]{2,8}){1,5}${DONE}`, 'g')
const FRENCH = /^0[1-9]([ .\u00a0-])[0-9]{2}(?:\1[0-9]{2}){3}$/
const BRITISH = /^\(?0(?:20|1\d{2,3}|11\d|1\d1|7\d{3}|[38]\d{2})\)?[ -]\d{3,4}[ -]\d{3,4}$/
/** A number in brackets or before a stroke, mobile ones of Germany, those of Japan and of Australia. */
const TELLING =
  /^(?:\(0[1-9][0-9]{1,4}\) ?[0-9][0-9 -]{4,9}|0[1-9][0-9]{1,4} ?\/ ?[0-9][0-9 -]{4,9}|01[567][0-9][ -][0-9]{7,8}|0[0-9]{1,2}-[0-9]{4}-[0-9]{4}|04[0-9]{2} [0-9]{3} [0-9]{3})$/
/** The international prefix in digits. */
const DIALLED = new RegExp(`${FREE}00[1-9](?:[ .\\u00a0/()-]{0,3}[0-9]){7,13}${DONE}`, 'g')
const BARE = new RegExp(`${FREE}[0-9]{9,12}${DONE}`, 'g')
const CUE =
  /(?:\b(?:tele?(?:phone|f[oó]n[oe]?|foon)?(?:n[ro]?|nummer)?|t[eé]l|t[eé]l[eé](?:phone|fono)|tlf|phones?|call|mobile|mobil(?:e|nummer)?|mobiel|cell(?:ular|phone|ulare)?|celular|telem[oó]vel|fax|whatsapp|viber|handy|ring|dial|text|sms|m[oó]vil|n[uú]mero|nummer|rufnummer|portable|contact|hotline|landline|reach (?:me|us|him|her|them|the)|ll[aá]m[ae](?:me|nos|r|d)?|appele[rz]|joindre|rufe?(?:n|t)?|anrufen|erreichen|telefonisch|chiama(?:mi|re|ci|te|temi|teci)?|ligue|liga|bel(?:len)?)\b|電話|携帯|电话|手机)[^0-9\n]{0,24}$/i
/** Groups as countries write them, behind such a word alone. */
const GROUPED = new RegExp(`${FREE}[0-9]{2,4}(?:[ .\\u00a0-][0-9]{2,4}){2,4}${DONE}`, 'g')
/** Words that shorten a number; groups behind such a word are three at least. */
const LAST_GROUP = /[ .\u00a0/-]{1,3}[0-9]+$/
const THREE = /^[0-9]{2,4}(?:[ .\u00a0-][0-9]{2,4}){2,}$/
const GOES_ON = /^(?:\w|[-.,/:]\d)/
const DATE = /^(?:[0-9]{4}([.-])[0-9]{2}\1[0-9]{2}|[0-9]{2}([.-])[0-9]{2}\2(?:19|20)[0-9]{2})/
/** An extension, behind any of the forms. */
const EXTENSION = /[, ]{0,2}(?:ext(?:ension|n)?|x|durchwahl|poste|interno|anexo|ramal|toestel)[.:]? ?#?[0-9]{1,6}(?![\w])/iy
/** Country codes of one digit, and the ten whose two digits begin longer ones only. */
const ZONES =
  /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|2[1-689]\d|35\d|37\d|38\d|42\d|5[09]\d|6[789]\d|8[0578]\d|96[0-8]|97[0-9]|99[2-68])/

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  const add = (start: number, end: number): void => matches.add(start, extended(text, end))
  if (text.includes('+')) international(text, from, add)
  each(AMERICA, text, from, (found, start, [, inBrackets, plain, first, exchange, second]) => {
    const area = inBrackets ?? plain
    if (area === undefined || exchange === undefined || area.endsWith('11') || exchange.endsWith('11')) return false
    if (first !== undefined && first !== second) return false
    // Three groups between spaces are any numbers, unless a word says otherwise.
    if (first === ' ' && !CUE.test(wordsBefore(text, start))) return false
    add(start, start + found.length)
    return true
  })
  each(NATIONAL, text, from, (all, start) => {
    const found = fitted(all, text, { start, most: 13 })
    if (digitsIn(found) < 8) return false
    if (!FRENCH.test(found) && !BRITISH.test(found) && !TELLING.test(found) && !CUE.test(wordsBefore(text, start))) return false
    add(start, start + found.length)
    return true
  })
  each(DIALLED, text, from, (found, start) => {
    // Numbers are filled up with zeros, too.
    if (!/[ .\u00a0/()-]/.test(found) && !CUE.test(wordsBefore(text, start))) return false
    if (!ZONES.test(found.replace(/[^0-9]/g, '').slice(2))) return false
    add(start, start + found.length)
    return true
  })
  each(GROUPED, text, from, (all, start) => {
    const found = fitted(all, text, { start, most: 12 })
    if (digitsIn(found) < 8 || !THREE.test(found)) return false
    if (DATE.test(found) || found.endsWith('000 000') || !CUE.test(wordsBefore(text, start))) return false
    add(start, start + found.length)
    return true
  })
  each(BARE, text, from, (found, start) => {
    if (!CUE.test(wordsBefore(text, start))) return false
    add(start, start + found.length)
    return true
  })
  return matches.list
}

/** The groups that belong to one number: what is beyond its digits is another one. '' where no end is left to it. */
function fitted(found: string, text: string, { start, most }: { start: number; most: number }): string {
  let end = found.length
  for (;;) {
    const cut = found.slice(0, end)
    const whole = end === found.length || !GOES_ON.test(text.slice(start + end, start + end + 2))
    if (whole && digitsIn(cut) <= most) return cut
    const [group] = LAST_GROUP.exec(cut) ?? []
    if (group === undefined) return ''
    end -= group.length
  }
}

function digitsIn(found: string): number {
  return found.replace(/[^0-9]/g, '').length
}

/** @returns the offset behind the extension of a number, if it has one. */
function extended(text: string, end: number): number {
  EXTENSION.lastIndex = end
  return EXTENSION.test(text) ? EXTENSION.lastIndex : end
}

function each(form: RegExp, text: string, from: number, visit: (found: string, start: number, hit: RegExpExecArray) => boolean): void {
  form.lastIndex = from
  for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) {
    // A rejected match may contain the beginning of another one.
    if (!visit(hit[0], hit.index, hit)) form.lastIndex = hit.index + 1
  }
}

/** Most units between two groups of digits, as in `) - `. */
const WIDEST_GAP = 3
const MAX_DIGITS = 15
const MIN_DIGITS = 8
const PLUS = 0x2b
const BRACKET = 0x28

function international(text: string, from: number, add: (start: number, end: number) => void): void {
  for (let plus = text.indexOf('+', from); plus !== -1; plus = text.indexOf('+', plus + 1)) {
    const before = text.charCodeAt(plus - 1)
    if (isWord(before) || before === PLUS || before === DOT) continue
    const end = internationalEnd(text, plus)
    if (end !== -1) add(plus, end)
  }
}

/** @returns the offset behind the last digit; -1 where the number is too short, too long or of no zone. */
function internationalEnd(text: string, plus: number): number {
  let digits = ''
  let end = -1
  /** End of the group before, and the number of digits by then. */
  let before = { end: -1, count: 0 }
  for (let at = plus + 1, gap = 0; gap <= WIDEST_GAP; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit)) {
      if (digits.length === MAX_DIGITS) {
        // Another number follows.
        end = before.end
        digits = digits.slice(0, before.count)
        break
      }
      if (gap > 0) before = { end, count: digits.length }
      digits += text[at]
      end = at + 1
      gap = 0
    } else if (GAPS.includes(text[at] ?? 'x') && at > plus + (unit === BRACKET ? 0 : 1)) gap++
    else break
  }
  if (digits.length < MIN_DIGITS || !ZONES.test(digits) || isWord(text.charCodeAt(end))) return -1
  return end
}

const GAPS = ' .-/()\u00a0'

/** All forms in one: up to fifteen digits with what may stand between them, and an extension. */
const shapes = [
  '\\b[+(]{0,2} ?[0-9](?:[ ().\\x{a0}/-]{0,3}[0-9]){7,16}[ ().\\x{a0}/-]{0,3}(?s:.){0,2}',
  '\\b[+(]{0,2} ?[0-9](?:[ ().\\x{a0}/-]{0,3}[0-9]){7,16}[, ]{0,2}(?i:ext(?:ension|n)?|x|durchwahl|poste|interno|anexo|ramal|toestel)[.:]? ?#?[0-9]{1,6}(?s:.)?',
]

export const phone: Detector = { find, shapes, digits: true }
