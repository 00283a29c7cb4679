/** Names of persons, as far as the words around them tell: a title, a greeting, a signature, a labelled field. */
import { type Detector, type Match, Matches } from '../detector.ts'
import { shapeOf } from '../shape.ts'

const PARTICLE = '(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|zu)'
const INITIAL = '\\p{Lu}\\.'
const NAME = "(?:\\p{Lu}['’])?\\p{Lu}[\\p{Ll}\\p{M}]{1,30}(?:[-'’]\\p{Lu}?[\\p{Ll}\\p{M}]{1,30}){0,2}"
const WHOLE = `${NAME}(?: (?:${PARTICLE} ){0,2}(?:${NAME}|${INITIAL})){0,3}`
const LONG = `${NAME}(?: (?:${PARTICLE} ){0,2}(?:${NAME}|${INITIAL})){1,3}`

/** What stands before, and how much of a name must follow. */
const BEFORE: readonly (readonly [cue: string, name: string])[] = [
  ['\\b(?:Mr|Mrs|Ms|Mx|Dr|Prof|Sr|Sra|Mme|Mlle|Hr|Fr)\\.? ', WHOLE],
  ['\\b(?:Mister|Miss|Madam|Doctor|Professor|Herrn?|Frau|Monsieur|Madame|Señora?|Signora?|Dottor) (?:Dr\\. )?', WHOLE],
  ["\\b(?:[Mm]y|[Hh]is|[Hh]er|[Tt]heir|[Tt]he (?:patient|client|customer|employee)['’]s) (?:full |first |last )?name (?:is|was) ", WHOLE],
  ["\\b(?:[Ii] am|I['’]m|[Tt]his is|[Mm]e llamo|[Jj]e m['’]appelle|[Ii]ch heiße|[Mm]ein Name ist|[Mm]i chiamo) (?:called )?", LONG],
  ['\\b(?:Dear|Liebe[rs]?|Lieber Herr|Cher|Chère|Querid[oa]|Estimad[oa]|Gentile) ', LONG],
  [
    '\\b(?:(?:[Ff]ull |[Ff]irst |[Ll]ast |[Pp]atient |[Cc]ustomer |[Cc]lient |[Ee]mployee |[Cc]ontact |[Uu]ser )?[Nn]ames?|[Pp]atient|[Cc]ustomer|[Ee]mployee|[Cc]ontact|[Nn]om|[Nn]ombre|[Nn]ome|[Ss]igned(?: by)?|[Aa]ttn)["\']? ?[:=] ?["\']?',
    LONG,
  ],
  ['\\b(?:[Ss]incerely|[Rr]egards|[Bb]est wishes|[Gg]rüßen?|[Cc]ordialement|[Ss]aludos),?\\s{1,4}', LONG],
]

const FORMS = BEFORE.map(([cue, name]) => new RegExp(`(?<![\\p{L}\\p{N}_])(${cue.replace(/^\\b/, '')})(${name})(?![\\p{L}\\p{N}])`, 'gu'))
/** A word that each of them needs; the first look. */
const CUES =
  /\b(?:M(?:rs?|[sx]|me|lle|ister|iss|adame?|onsieur)|Drs?|Prof|Sra?|Hr|Fr|Doctor|Professor|Herrn?|Frau|Se[ñn]ora?|Signora?|Dottor|Dear|Lieber?s?|Ch[eè]re?|Querid[oa]|Estimad[oa]|Gentile)\b|names?\b|I['’ ]a?m |this is|llamo|appelle|heiße|Name ist|chiamo|patient|customer|client|employee|contact|nom|attn|signed|sincerely|regards|wishes|grüße|cordialement|saludos/i
/** Words with a capital that follow such cues and are no names. */
const OTHERS: ReadonlySet<string> = new Set(
  'Sir Madam Team Customer Customers User Users Friend Friends All Everyone Colleague Colleagues Hiring Manager Support Sales President Minister Chairman Speaker Justice Secretary Ambassador The This That It We You They He She Not Is Here Just Very From In On At Diary Lord Damen Herren Null None Undefined True False String Test'.split(
    ' ',
  ),
)

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  for (const form of FORMS) {
    form.lastIndex = from
    for (let hit = form.exec(text); hit !== null; hit = form.exec(text)) {
      const [, cue, name] = hit
      const start = hit.index + cue.length
      if (!OTHERS.has(name.split(' ')[0])) matches.add(start, start + name.length)
    }
  }
  return matches.list
}

const shapes = BEFORE.map(([cue, name]) => `\\b${shapeOf(cue.replace(/^\\b/, '') + name)}`)

export const personName: Detector = { find, shapes, may: (text) => CUES.test(text) }
