/** Names of persons, as far as the words around them mark them: a title, a greeting, a signature, a labelled field. */

import { loosenPattern } from '../../machines/linear-regex/shape.ts'
import { type Detector, type Match, Matches } from '../detector.ts'

const PARTICLE = '(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|zu)'
const INITIAL = '\\p{Lu}\\.'
const NAME = "(?:\\p{Lu}['’])?\\p{Lu}[\\p{Ll}\\p{M}]{1,30}(?:[-'’]\\p{Lu}?[\\p{Ll}\\p{M}]{1,30}){0,2}"
const WHOLE = `${NAME}(?: (?:${PARTICLE} ){0,2}(?:${NAME}|${INITIAL})){0,3}`
const LONG = `${NAME}(?: (?:${PARTICLE} ){0,2}(?:${NAME}|${INITIAL})){1,3}`

const RELATIVE =
  '(?:wife|husband|son|daughter|brother|sister|mother|father|mum|mom|dad|aunt|uncle|cousin|niece|nephew|colleague|coworker|boss|friend|neighbou?r|landlord|roommate|fianc[ée]e?|girlfriend|boyfriend|lawyer|therapist)'
const FIELD =
  '(?:(?:[Ff]ull|[Ff]irst|[Ll]ast|[Pp]atient|[Cc]ustomer|[Cc]lient|[Ee]mployee|[Cc]ontact|[Uu]ser|[Mm]iddle|[Gg]iven|[Ff]amily|[Dd]isplay|[Bb]illing|[Ss]hipping|[Cc]ardholder|[Ss]tudent|[Rr]ecipient|[Ss]ender|[Aa]ccount|[Hh]older)[ _-]?)?[Nn]ames?'
const LABEL =
  '(?:[Pp]atient(?:in)?|[Cc]ustomer|[Cc]lient|[Ee]mployee|[Cc]ontact|[Aa]pplicant|[Rr]ecipient|[Ss]ender|[Aa]ssignee|[Aa]uthor|[Tt]enant|[Pp]assenger|[Cc]ardholder|[Bb]eneficiary|[Ss]urname|[Nn]om|[Pp]rénom|[Nn]ombre|[Aa]pellidos?|[Nn]ome|[Cc]ognome|[Nn]aam|[Vv]orname|[Nn]achname|[Kk]undin|[Kk]unde|[Aa]nsprechpartner(?:in)?|[Ee]mpfänger(?:in)?|[Aa]bsender(?:in)?|[Cc]liente|[Pp]aciente|[Pp]aziente|[Cc]lient|[Ss]igned(?: by)?|[Aa]ttn)'

/** Words before a name, and the least of a name that must follow. */
const BEFORE: readonly (readonly [cue: string, name: string])[] = [
  ['\\b(?:Mr|Mrs|Ms|Mx|Dr|Prof|Sr|Sra|Mme|Mlle|Hr|Fr|Sig|Dott|Ing|Avv|Dhr|Mevr|Mw)\\.? ', WHOLE],
  ['\\b(?:Sig\\.(?:ra|na)|Dott\\.ssa|Prof\\.(?:ssa)?|Srta\\.|Dra\\.|M\\.) ', WHOLE],
  [
    '\\b(?:Mister|Miss|Madam|Doctor|Professor|Herrn?|Frau|Monsieur|Madame|Mademoiselle|Señora?|Señorita|Senhora?|Signora?|Signorina|Signor|Dottor|Dottoressa|Meneer|Mevrouw) (?:Dr\\. )?',
    WHOLE,
  ],
  ["\\b(?:[Mm]y|[Hh]is|[Hh]er|[Tt]heir|[Tt]he (?:patient|client|customer|employee)['’]s) (?:full |first |last )?name (?:is|was) ", WHOLE],
  [
    "\\b(?:[Ii] am|I['’]m|[Tt]his is|[Mm]e llamo|[Mm]i nombre es|[Jj]e m['’]appelle|[Mm]on nom est|[Ii]ch heiße|[Mm]ein Name ist|[Mm]i chiamo|[Ii]l mio nome è|[Mm]eu nome é|[Ii]k heet|[Mm]ijn naam is) (?:called )?",
    LONG,
  ],
  [
    '\\b(?:Dear|Liebe[rs]?|Lieber Herr|Cher|Chère|Querid[oa]|Estimad[oa]|Gentile|Gentilissim[oa]|Car[oa]|Prezad[oa]|Beste|Geachte|Hi|Hello|Hallo|Hola|Ciao|Bonjour) ',
    LONG,
  ],
  [`\\b(?:${FIELD}|${LABEL})["']? ?[:=] ?["']?`, LONG],
  [
    '\\b(?:[Ff]ull|[Ff]irst|[Ll]ast|[Gg]iven|[Ff]amily|[Mm]iddle|[Cc]ustomer|[Pp]atient|[Ee]mployee|[Cc]lient|[Cc]ontact|[Hh]older)_?[Nn]ame["\'] ?[:=] ?["\']',
    WHOLE,
  ],
  [
    '\\b(?:[Ss]incerely(?: yours)?|[Yy]ours (?:truly|faithfully|sincerely)|[Rr]egards|[Bb]est wishes|[Gg]rüßen?|[Cc]ordialement|[Ss]aludos|[Ss]aluti|[Aa]tentamente|[Aa]tenciosamente|[Gg]roeten?|[Cc]heers),?\\s{1,4}',
    LONG,
  ],
  [
    '\\b(?:[Aa]pproved|[Rr]eviewed|[Ss]igned(?: off)?|[Ww]ritten|[Aa]uthored|[Pp]repared|[Rr]eported|[Rr]equested|[Ff]ounded|[Ss]ubmitted|[Vv]erified|[Dd]irected|[Ii]nterviewed|[Ii]llustrated|[Tt]ranslated|[Pp]hotographed) by ',
    LONG,
  ],
  ['\\b(?:[Bb]ook|[Nn]ovel|[Aa]rticle|[Pp]aper|[Pp]hoto|[Pp]ainting|[Ss]ong|[Pp]oem|[Ss]tory|[Ee]ssay|[Ll]ecture) by ', LONG],
  ['\\b(?:[Gg]enehmigt|[Gg]eschrieben|[Uu]nterschrieben|[Gg]eprüft|[Ff]reigegeben|[Ee]rstellt|Buch|Roman|Artikel) von ', LONG],
  ['\\b(?:[Aa]pprouvé|[Éé]crit|[Ss]igné|[Vv]alidé) par ', LONG],
  ['\\b(?:[Aa]probado|[Ee]scrito|[Ff]irmado) por ', LONG],
  ['\\b(?:[Aa]pprovato|[Ss]critto|[Ff]irmato) da ', LONG],
  [`\\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er) ${RELATIVE},? `, LONG],
  [
    '\\b(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey) (?:met(?: with)?|married|hired|phoned|emailed|interviewed|spoke (?:to|with)|talked (?:to|with)) ',
    LONG,
  ],
  ['\\b(?:Captain|Officer|Detective|Judge|Senator|Sergeant|Lieutenant|Colonel|Inspector|CEO|CTO|CFO|Rev\\.) ', LONG],
]
/** Words behind a name, for whole names alone. */
const AFTER = '(?= and I\\b| (?:co-?)?founded the\\b)'
/** Words that begin a sentence before a name. */
const LEADERS =
  '(?:Yesterday|Today|Tomorrow|Then|When|While|After|Before|Because|Since|Later|Once|Last|Both|Only|Perhaps|Maybe|But|And|So|If|Now|Soon|Usually|Sometimes)'
const DONE = '(?![\\p{L}\\p{N}])'

/** Compiled at the first use: classes of Unicode take milliseconds, at every start. */
let forms: readonly RegExp[] | undefined

function compileForms(): readonly RegExp[] {
  return BEFORE.map(([cue, name]) => new RegExp(`(?<![\\p{L}\\p{N}_])(${cue.replace(/^\\b/, '')})(${name})${DONE}`, 'gu'))
}

const FOLLOWED = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${LEADERS} )?(${LONG})${AFTER}`, 'gu')
const FOLLOWERS = / and I\b|ounded the\b/
/** A word that each of them needs; the first look. */
const CUES =
  /\b(?:M(?:rs?|[sx]|me|lle|ister|iss|adame?|ademoiselle|onsieur|evr(?:ouw)?|w|eneer|\.)|Drs?|Dra|Prof|Sra?|Srta|Hr|Fr|Sig|Signor(?:ina|a)?|Dott(?:or|oressa)?|Ing|Avv|Dhr|Doctor|Professor|Herrn?|Frau|Se[ñn](?:hora?|orita|ora?)|Dear|Lieber?s?|Ch[eè]re?|Querid[oa]|Estimad[oa]|Gentil(?:e|issim[oa])|Car[oa]|Prezad[oa]|Beste|Geachte|Hi|Hello|Hallo|Hola|Ciao|Bonjour|Captain|Officer|Detective|Judge|Senator|Sergeant|Lieutenant|Colonel|Inspector|CEO|CTO|CFO|Rev|met|married|hired|phoned|emailed|interviewed|by|von|par|por|da|(?:spoke|talked) (?:to|with)|and I|founded)\b|name|I['’ ]a?m |this is|llamo|nombre|appelle|mon nom|heiße|Name ist|chiamo|patient|customer|client|employee|contact|applicant|recipient|sender|assignee|author|tenant|passenger|holder|beneficiary|apellido|cognome|naam|ik heet|kunde|kundin|ansprechpartner|empfänger|absender|paciente|paziente|nom|attn|signed|sincerely|yours|regards|wishes|grüße|cordialement|salu[dt]|atent|atenc|groet|cheers|(?:my|our|his|her) [a-z]{3,10},? [A-Z]/i
/** Words with a capital that follow such cues and are no names. */
const OTHERS: ReadonlySet<string> = new Set(
  'Yesterday Today Tomorrow Then When While After Before Because Since Later Once Both Only Perhaps Maybe But And So If Now Soon Usually Sometimes Sir Madam Team Customer Customers User Users Friend Friends All Everyone Colleague Colleagues Hiring Manager Support Sales President Minister Chairman Speaker Justice Secretary Ambassador The This That It We You They He She Not Is Here Just Very From In On At Diary Lord Damen Herren Null None Undefined True False String Test Name First Last Full Human Machine Artificial United North South East West New Good Happy Merry My Your Our Their His Her Welcome Thank Thanks Please Black White Supreme High Open Deep Big Great Saint World Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June July August September October November December'.split(
    ' ',
  ),
)
/** Words that make a company, an office or a place of what looks like a name. */
const BODIES =
  /(?<![\p{L}])(?:Inc|Ltd|LLC|Corp|GmbH|AG|Team|Department|Dept|Committee|Board|Council|Group|University|College|School|Institute|Court|Bank|Company|Foundation|Agency|Association|Office|Ministry|Commission|Parliament|Congress|Society|Union|Church|Hospital|Center|Centre|Club|Party|Press|Times|Post|News|Service|Services|Support|Sales|Marketing|Engineering|Management|Resources|Security|Studio|Studios|Software|Systems|Technologies|Technology|Solutions|Partners|Brothers|Learning|Intelligence|Science|Data|Code|Street|Avenue|Road|Park|City|County|America|Europe|Africa|Asia|Nations|Kingdom|Republic|States|Abteilung|Gesellschaft|Verein|Universität|Équipe|Servicio|Ufficio)(?![\p{L}])/u
/** Names of famous persons, characters and goods: they are no personal data. */
const FAMED =
  /^(?:Pepper|Oetker|Martens|Who|Strange|No|Dre|Evil|Seuss|Watson I|Holle|Bean|Coffee|Robot|Clean|Doubtfire|Universe|World|America|Marple|Bovary|Tussauds|Holmes I|Spock|Freeze|Muscle|Potato|Right|Wrong|Big|Fix)(?![\p{L}])/u

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  forms ??= compileForms()
  for (const form of forms) {
    form.lastIndex = from
    for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) {
      const [, cue, name] = hit
      if (cue === undefined || name === undefined) continue
      const start = hit.index + cue.length
      if (isName(name)) matches.add(start, start + name.length)
    }
  }
  if (FOLLOWERS.test(text)) {
    FOLLOWED.lastIndex = from
    for (let hit = FOLLOWED.exec(text); hit !== null; hit = FOLLOWED.exec(text)) {
      const [whole, name] = hit
      if (name === undefined) continue
      const start = hit.index + whole.length - name.length
      if (isName(name)) matches.add(start, start + name.length)
    }
  }
  columns(text, from, matches)
  return matches.list
}

function isName(name: string): boolean {
  return !OTHERS.has(name.replace(/ .*$/s, '')) && !BODIES.test(name) && !FAMED.test(name)
}

const COLUMN =
  '(?:(?:[Ff]ull |[Ff]irst |[Ll]ast |[Cc]ustomer |[Cc]lient |[Ee]mployee |[Pp]atient |[Cc]ontact |[Uu]ser )?[Nn]ame|NAME|[Nn]ombre|[Nn]ome|[Nn]om|[Nn]aam|[Cc]ustomer|[Ee]mployee|[Pp]atient|[Cc]ontact|[Aa]uthor|[Aa]ssignee)'
/** The line below the head of a table of Markdown. */
const RULE = /\n[ \t]*\|[-:| \t]{3,300}\n/g
const HEAD = new RegExp(`^\\s*${COLUMN}\\s*$`)
const CELL = new RegExp(`^(\\s*)(${LONG})\\s*$`, 'u')
/** UTF-16 units of a line that is read. */
const MAX_LINE_LENGTH = 2_000

/** @returns how many cells from the end the column of names is, counting what stands behind the last stroke. */
function headOffset(head: string): number | undefined {
  if (!head.includes('|')) return undefined
  const cells = head.split('|')
  const column = cells.findIndex((cell) => HEAD.test(cell))
  return column > 0 ? cells.length - column : undefined
}

/** Names in the cells of a column that says so. */
function columns(text: string, from: number, matches: Matches): void {
  if (!text.includes('|')) return
  RULE.lastIndex = 0
  for (let hit = RULE.exec(text); hit !== null; hit = RULE.exec(text)) {
    const head = text.slice(Math.max(text.lastIndexOf('\n', hit.index - 1) + 1, hit.index - MAX_LINE_LENGTH), hit.index)
    // Counted from the end of the line: of a text that comes in pieces its beginning may be gone.
    const place = headOffset(head)
    let at = RULE.lastIndex
    while (place !== undefined && at < text.length) {
      const lineEnd = text.indexOf('\n', at)
      const line = text.slice(at, lineEnd === -1 ? text.length : lineEnd)
      if (!/^[ \t]*\|/.test(line)) break
      const cells = line.slice(0, MAX_LINE_LENGTH).split('|')
      const column = cells.length - place
      const [, space, name] = CELL.exec(cells[column] ?? '') ?? []
      if (space !== undefined && name !== undefined && isName(name)) {
        const start = at + cells.slice(0, column).join('|').length + 1 + space.length
        if (start >= from) matches.add(start, start + name.length)
      }
      at += line.length + 1
    }
    // The line that ends here may be the head of the next table.
    RULE.lastIndex = Math.min(at, text.length) - 1
  }
}

const shapes = [
  ...BEFORE.map(([cue, name]) => `\\b${loosenPattern(cue.replace(/^\\b/, '') + name)}`),
  `\\b${loosenPattern(LONG, 0)}(?: and I| (?:co-?)?founded the)(?s:.)?`,
  `\\b${COLUMN} ?\\|[^\\n]*\\n[ \\t]*\\|[-:| \\t]+\\n(?:[ \\t]*\\|[^\\n]*\\n?)+`,
]

export const personName: Detector = { find, shapes, may: (text) => CUES.test(text) }
