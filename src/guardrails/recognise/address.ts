/** Postal addresses by their form: a number and a street, a street and a number, a box, with what follows of place and code. */
import { type Detector, type Match, Matches } from '../detector.ts'
import { shapeOf } from '../shape.ts'

const WORD = "\\p{Lu}(?:[\\p{L}\\p{M}'’.-]{0,30}[\\p{L}\\p{M}])?"
const STREETS =
  '(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Crescent|Close|Gardens|Row|Mews|Trail|Alley)'
const UNIT = '(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|#)\\.? ?#?[0-9A-Za-z-]{1,6})?'
const STATE = '(?:A[LKZR]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])'
/** A town, and the codes of the United States, of Britain or of five digits. */
const PLACE = `(?:,? (?:${WORD} ){0,2}${WORD}(?:,? ${STATE}(?: [0-9]{5}(?:-[0-9]{4})?)?|,? [A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}))?`
const NUMBER_FIRST = `[1-9][0-9]{0,5}[A-Za-z]?,? (?:[NSEW]\\.? )?(?:${WORD}\\.? ){1,4}?${STREETS}\\b(?:\\.(?=,| [\\p{Lu}#]))?${UNIT}${PLACE}`
const FRENCH =
  "[1-9][0-9]{0,3}(?: bis| ter)?,? (?:rue|avenue|av\\.|boulevard|bd|place|chemin|allée|impasse|quai|route) (?:(?:de|du|des|la|le|les) ){0,3}(?:l['’]|d['’])?\\p{L}[\\p{L}\\p{M}'’ -]{1,40}?"
const SPANISH =
  "(?:Calle|Avenida|Avda\\.|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|Praça) (?:(?:de|del|la|las|los|di|da|do|dos) ){0,3}\\p{Lu}[\\p{L}\\p{M}'’ -]{1,40}?,? (?:n\\.?º? ?)?[1-9][0-9]{0,4}[A-Za-z]?"
const GERMAN =
  '\\p{Lu}[\\p{L}\\p{M}.-]{1,40}(?:straße|strasse|str\\.|weg|gasse|platz|allee|ufer|damm|ring|straat|laan|gracht|plein)\\.? [1-9][0-9]{0,3} ?[a-z]?'
const CODE_AND_TOWN = `(?:,? ?\\n?(?:[A-Z]{1,2}-)?[0-9]{4,5} (?:[A-Z]{2} )?${WORD}(?: ${WORD}){0,2})?`
const BOX = '(?:P\\.? ?O\\.? ?Box|Postfach|Apartado|B\\.P\\.) [0-9][0-9 ]{0,8}[0-9]'

const SOURCES = [
  NUMBER_FIRST,
  `(?:${FRENCH})(?=[,.\\n;]|$)${CODE_AND_TOWN}`,
  `${SPANISH}(?![0-9])${CODE_AND_TOWN}`,
  `${GERMAN}(?![\\p{L}0-9])${CODE_AND_TOWN}`,
  BOX,
]
const FORMS = SOURCES.map((form) => new RegExp(`(?<![\\p{L}\\p{N}_.,-])${form}(?![\\p{L}\\p{N}])`, 'gu'))

/** A word that each of them needs; the first look. */
const CUES =
  /(?:street|st|avenue|ave|av|road|rd|boulevard|blvd|bd|lane|ln|drive|dr|court|ct|place|pl|square|sq|terrace|ter|way|parkway|pkwy|highway|hwy|circle|cir|crescent|close|gardens|row|mews|trail|alley|rue|chemin|all[ée]e|impasse|quai|route|calle|avenida|avda|plaza|paseo|via|viale|piazza|corso|rua|praça|straße|strasse|str|weg|gasse|platz|ufer|damm|ring|straat|laan|gracht|plein|box|postfach|apartado|b\.p)\b/i

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  for (const form of FORMS) {
    form.lastIndex = from
    for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) matches.add(hit.index, hit.index + hit[0].length)
  }
  return matches.list
}

const shapes = SOURCES.map((source) => `\\b${shapeOf(source, 2)}`)

export const address: Detector = { find, shapes, digits: true, may: (text) => CUES.test(text) }
