/** Postal addresses by their form: a number and a street, a street and a number, a box, with what follows of place and code. */

import { loosenPattern } from '../../machines/linear-regex/shape.ts'
import { type Detector, type Match, Matches } from '../detector.ts'
import { wordsBefore } from './characters.ts'

const WORD = "\\p{Lu}(?:[\\p{L}\\p{M}'’.-]{0,30}[\\p{L}\\p{M}])?"
const STREETS =
  '(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Crescent|Close|Gardens|Row|Mews|Trail|Alley|Loop|Wharf|Quay|Grove|Broadway)'
/** Quarters of a town, as parts of the street's name. */
const QUARTER = '(?: (?:N[EW]?|S[EW]?|E|W|North|South|East|West|Central)\\b\\.?)?'
const UNIT = '(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|#)\\.? ?#?[0-9A-Za-z-]{1,6})?'
const STATE = '(?:A[LKZR]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])'
/** A town, and the codes of the United States, of Britain or of five digits. */
const PLACE = `(?:,? (?:${WORD} ){0,2}${WORD}(?:,? ${STATE}(?: [0-9]{5}(?:-[0-9]{4})?)?|,? [A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}))?`
const NUMBER_FIRST = `[1-9][0-9]{0,5}[A-Za-z]?(?:[-–][0-9]{1,5})?,? (?:[NSEW]\\.? |(?:North|South|East|West) )?(?:(?:${WORD}|[0-9]{1,3}(?:st|nd|rd|th))\\.? ){1,4}?${STREETS}\\b(?:\\.(?=,| [\\p{Lu}#]))?${QUARTER}${UNIT}${PLACE}`
/** Words such as `place`, `route` and `quai` need a name behind them: without one they are common nouns. */
const FRENCH =
  "[1-9][0-9]{0,3}(?: bis| ter)?,? (?:rue|avenue|av\\.|boulevard|bd|allée|(?:place|chemin|impasse|quai|route|cours)(?= [^,.\\n;]{0,40}\\p{Lu})) (?:(?:de|du|des|la|le|les) ){0,3}(?:l['’]|d['’])?\\p{L}[\\p{L}\\p{M}'’ -]{1,40}?"
const SPANISH =
  "(?:Calle|C/|Carrer|Avenida|Avda\\.|Av\\.|Plaza|Paseo|Camino|Ronda|Via|Viale|Piazza|Piazzale|Corso|Vicolo|Rua|Praça|Travessa|Estrada|Alameda) (?:(?:de|del|la|las|los|di|da|do|dos) ){0,3}\\p{Lu}[\\p{L}\\p{M}'’ -]{1,40}?,? (?:n\\.?º? ?)?[1-9][0-9]{0,4}[A-Za-z]?"
const GERMAN =
  '\\p{Lu}[\\p{L}\\p{M}.-]{1,40}(?:straße|strasse|str\\.|weg|gasse|platz|allee|ufer|damm|straat|laan|gracht|singel|stieg|chaussee|gatan|vägen|vej|gade|veien)\\.? [1-9][0-9]{0,3} ?[a-z]?'
/** Endings that other words have, too: a code and a town must follow. */
const GERMAN_OR_NOT =
  '\\p{Lu}[\\p{L}\\p{M}.-]{1,40}(?:ring|plein|kade|dijk|steig|pfad|promenade|markt|park|hof|graben) [1-9][0-9]{0,3} ?[a-z]?,? ?\\n?(?:[A-Z]{1,2}-)?[0-9]{4,5} (?:[A-Z]{2} )?'
/** Streets of several words: recognised by the last word, or by the code and the town behind the number. */
const GERMAN_WORDS =
  '(?:\\p{Lu}[\\p{L}\\p{M}.]{1,30}[ -]){1,3}(?:Straße|Strasse|Str\\.|Allee|Chaussee|Gasse|Ufer|Damm) [1-9][0-9]{0,2} ?[a-z]?'
const GERMAN_PLACES =
  '(?:A[mn]|Im|In|Auf|Zu[mr]|Unter|Beim|Hinter|Vor|Alte[rs]?|Neue[rs]?)(?: (?:de[rnm]|das|die))?(?: \\p{Lu}[\\p{L}\\p{M}.-]{1,30}){1,3} [1-9][0-9]{0,2} ?[a-z]?,? ?\\n?(?:D-)?[0-9]{5} '
const CODE_AND_TOWN = `(?:,? ?\\n?(?:[A-Z]{1,2}-)?[0-9]{4,5} (?:[A-Z]{2} )?${WORD}(?: ${WORD}){0,2})?`
const BOX =
  '(?:(?:P\\.? ?O\\.? ?Box|Apartado (?:de [Cc]orreos|[Pp]ostal)|Apdo\\.|B\\.P\\.) [0-9][0-9 ]{0,8}[0-9]|Postfach [0-9][0-9 ]{1,8}[0-9])'

const SOURCES = [
  NUMBER_FIRST,
  `(?:${FRENCH})(?=[,.\\n;]|$)${CODE_AND_TOWN}`,
  `${SPANISH}(?![0-9])${CODE_AND_TOWN}`,
  `${GERMAN}(?![\\p{L}0-9])${CODE_AND_TOWN}`,
  `${GERMAN_OR_NOT}${WORD}(?: ${WORD}){0,2}`,
  `${GERMAN_WORDS}(?![\\p{L}0-9])${CODE_AND_TOWN}`,
  `${GERMAN_PLACES}${WORD}(?: ${WORD}){0,2}`,
  BOX,
]
/** Compiled at the first use: classes of Unicode take milliseconds, at every start. */
let forms: readonly RegExp[] | undefined

function compileForms(): readonly RegExp[] {
  return SOURCES.map((form) => new RegExp(`(?<![\\p{L}\\p{N}_.,-])${form}(?![\\p{L}\\p{N}])`, 'gu'))
}

/** Words of which every address has one: a text without any of them is not searched. */
const CUES =
  /(?:street|st|avenue|ave|av|road|rd|boulevard|blvd|bd|lane|ln|drive|dr|court|ct|place|pl|square|sq|terrace|ter|way|parkway|pkwy|highway|hwy|circle|cir|crescent|close|gardens|row|mews|trail|alley|loop|wharf|quay|grove|broadway|rue|chemin|all[ée]e|impasse|quai|route|calle|carrer|avenida|avda|plaza|paseo|camino|ronda|via|viale|piazzal?e?|corso|vicolo|rua|praça|travessa|estrada|alameda|straße|strasse|str|weg|gasse|platz|ufer|damm|ring|straat|laan|gracht|plein|kade|singel|dijk|steig|stieg|chaussee|promenade|pfad|markt|park|hof|graben|gatan|vägen|vej|gade|veien|box|postfach|apartado|apdo|b\.p)\b|C\/|(?:A[mn]|Im|In|Auf|Zu[mr]|Unter|Beim|Hinter|Vor|Alte[rs]?|Neue[rs]?) [^\n]{3,99}[0-9]{5} /i

/** Texts that have the form of an address and are none. */
const OTHERS =
  /(?:Supreme|District|Appeals?|Federal|County|Tennis|Food|Hard|Flash|USB|Google|Disk|Thumb|Test|State|First|Second|Third|Last|Best|Easy|Only|Right|Wrong|Same|Milky|Front|Back) (?:Court|Drive|Place|Way|Row)\b(?! [\p{Lu}])|(?:Park|Arbeits|Spiel|Sitz|Steh|Stell|Start|Tabellen|Flug|Camping|Sport|Bau|Lager|Listen|Speicher|Steck|Studien|Ausbildungs)platz|^(?:Um|Rück|Hin|Aus|Rad|Geh|Lösungs|Rechts|Liefer|Fuß)weg /u
const YEAR = /^(?:19|20)[0-9]{2} /
const OF_YEARS = /\b(?:in|since|by|until|of|from|during|after|before|late|early)\s$/i

function isStreet(found: string, before: string): boolean {
  return !OTHERS.test(found) && !(YEAR.test(found) && OF_YEARS.test(before))
}

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  forms ??= compileForms()
  for (const form of forms) {
    form.lastIndex = from
    for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) {
      if (isStreet(hit[0], wordsBefore(text, hit.index, 12))) matches.add(hit.index, hit.index + hit[0].length)
    }
  }
  return matches.list
}

const shapes = SOURCES.map((source) => `\\b${loosenPattern(source, 2)}`)

export const address: Detector = { find, shapes, digits: true, may: (text) => CUES.test(text) }
