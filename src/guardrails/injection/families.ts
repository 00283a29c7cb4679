/** The documented families of orders that a text tries to slip to a model (contract section 7). */

import { NEXT, shapeOf } from '../shape.ts'
import { beginnings } from './word-survey.ts'

interface Family {
  /** Of each list one word is in every match, by its first four letters. */
  readonly words: readonly string[]
  /** `~` stands for what may stand between two words. */
  readonly form: string
  /** Capitals count. */
  readonly exact?: true
}

/** Up to n words in between. */
const few = (most: number): string => `(?:~[a-z']{1,14}){0,${most}}`

const RULES = '(?:instructions?|directions?|prompts?|rules?|guidelines?|commands?|directives?|orders?|constraints?|programming|policies)'
const EARLIER = '(?:previous|prior|above|earlier|preceding|existing|original|initial|former|foregoing|past|your|system)'
const BOUNDS = '(?:restrictions?|limits|limitations|filters?|rules|guidelines|censorship|constraints|ethics)'
const BOUND_WORDS = 'rest limi filt rule guid cens cons ethi'
const OTHER_MODES = '(?:developer|dev|admin|administrator|debug|god|maintenance|root|sudo|unrestricted|jailbreak|unsafe)'

const FAMILIES: readonly Family[] = [
  // earlier rules no longer hold
  {
    words: ['igno disr forg supe void over negl canc disc', 'inst dire prom rule guid comm orde cons prog poli'],
    form: `(?:ignore|disregard|forget|supersedes?|void|override|overrule|neglect|cancel|discard)${few(3)}~${EARLIER}${few(2)}~${RULES}`,
  },
  {
    words: ['igno disr forg', 'ever anyt all'],
    form: '(?:ignore|disregard|forget)~(?:everything|anything|all)~(?:above|before|prior|previous|(?:that~)?(?:you~were~told|i~(?:said|told~you)|came~before))',
  },
  {
    words: ['igno disr forg over', 'inst'],
    form: '(?:ignore|disregard|forget|override)~(?:all~|any~)?(?:of~)?(?:the~|these~|those~|my~)?instructions?~(?:above|before|given|provided|so~far)',
  },
  { words: ['new upda', 'inst'], form: '(?:new|updated)~(?:system~)?instructions?\\s{0,2}:' },
  {
    words: ['igno verg miss', 'anwe vorg rege'],
    form: `(?:ignoriere|vergiss|missachte)${few(3)}~(?:vorherigen|bisherigen|obigen|fr.heren|deine)${few(2)}~(?:anweisungen|vorgaben|regeln)`,
  },
  {
    words: ['igno oubl olvi dime', 'inst cons regl istr'],
    form: '(?:ignore[zrs]?|oublie[zrs]?|ignora|olvida|dimentica)(?:~[a-z]{1,10}){0,3}~(?:(?:instructions|consignes)~pr.c.dentes|(?:instrucciones|reglas)~(?:anteriores|previas)|istruzioni~precedenti)',
  },
  // another mode
  {
    words: ['mode', 'deve dev admi debu god main root sudo unre jail unsa'],
    form: `(?:enter|switch~(?:in)?to|go~into|you~are~(?:now~)?in|engage|initiate|boot~into)${few(2)}~${OTHER_MODES}~mode`,
  },
  {
    words: ['mode', 'deve admi god root unre jail dan'],
    form: '(?:developer|admin|god|root|unrestricted|jailbreak|dan)~mode~(?:is~)?(?:now~)?(?:enabled|activated|engaged|on\\b|unlocked)',
  },
  {
    words: ['mode', 'enab acti unlo'],
    form: `(?:enable|activate|unlock)${few(1)}~(?:god|admin|unrestricted|jailbreak|dan|developer)~mode`,
  },
  { words: ['over', 'syst admi safe secu'], form: '(?:system|admin|safety|security)~(?:prompt~)?override' },
  {
    words: ['over', 'syst safe'],
    form: `override${few(2)}~(?:system|safety)~(?:prompts?|instructions?|settings|rules|protocols?|polic(?:y|ies)|filters?)`,
  },
  // the prompt itself
  {
    words: [
      'reve show repe outp prin disp tell give shar leak dump expo reci send writ what',
      'prom inst guid dire',
      'syst init orig hidd secr inte conf your',
    ],
    form: `(?:reveal|show|repeat|output|print|display|tell~me|give~me|share|leak|dump|expose|recite|send~me|write~(?:out|down)|what~(?:is|are|was|were))${few(3)}~(?:system|initial|original|hidden|secret|internal|confidential|your)~(?:system~|initial~|original~|hidden~|secret~|full~)?(?:prompts?|instructions?|guidelines|directives)`,
  },
  {
    words: ['repe outp prin copy', 'abov befo'],
    form: `(?:repeat|output|print|copy)${few(2)}~(?:everything|words|text|all|content|lines)${few(2)}~(?:above|before~this)`,
  },
  // another role
  {
    words: ['long', 'you'],
    form: '(?:you~are|you.re)~no~longer~(?:bound|restricted|limited|an?~ai|a~(?:large~)?language~model|subject|required|constrained|chatgpt|an?~assistant)',
  },
  {
    words: ['pret act beha role imag simu', `anot diff unre unce unfi evil amor rogu ${BOUND_WORDS}`],
    form: `(?:pretend|act|behave|role.?play|imagine|simulate)${few(5)}~(?:(?:another|different|unrestricted|uncensored|unfiltered|evil|amoral|rogue)~(?:ai|assistant|model|chatbot|bot|language~model|llm)|(?:without|no|free~(?:of|from))~(?:any~|all~)?${BOUNDS})`,
  },
  {
    words: ['now', 'you', `unre unce unfi jail dan ${BOUND_WORDS}`],
    form: `(?:from~now~on${few(2)}~you|you~are~now)${few(8)}~(?:unrestricted|uncensored|unfiltered|jailbroken|dan|(?:without|no|ignores?)~(?:any~|all~)?${BOUNDS})`,
  },
  { words: ['anyt', 'now'], form: 'do~anything~now' },
  {
    words: ['dan stan aim dude', 'you'],
    form: '(?:[Yy]ou~are|YOU~ARE)~(?:now~|going~to~be~)?(?:DAN|STAN|AIM|DUDE)(?![A-Za-z])',
    exact: true,
  },
  { words: ['jail'], form: 'jail(?:~)?br(?:eak|oken)~(?:mode|prompt|yourself|assistant|ai|model)' },
  // what keeps it safe
  {
    words: ['safe cont ethi mode', 'bypa disa circ turn evad remo deac igno swit'],
    form: `(?:bypass|disable|circumvent|turn~off|evade|remove|deactivate|ignore|switch~off)${few(3)}~(?:safety|content|ethical|ethics|moderation)~(?:filters?|filtering|guidelines?|protocols?|measures?|restrictions?|polic(?:y|ies)|rules|checks|features|guardrails?|training|systems?|constraints?)`,
  },
]

/** Marks of a conversation's own machinery, which no caller's text needs. They are looked for in the text as it is. */
export const MARKS: readonly RegExp[] = [
  /<\/?(?:system|sys|system_prompt|system-prompt)>/gi,
  /(?<!\w)\[\/?(?:system|sys|INST)\](?!\w)/gi,
  /^[ \t>*#-]{0,4}(?:System|SYSTEM)(?: (?:message|prompt|Message|Prompt))?[ \t]*:(?=[ \t]*\S)/gm,
  /<\|[a-z][a-z_]{1,30}\|>/gi,
  /<<\/?SYS>>/g,
  /<\/?(?:start|end)_of_turn>/g,
]
/** Units without which none of them is there: the look before the look. */
export const MARK_NEEDLES = ['<', '[', 'ystem', 'YSTEM']

export interface CompiledFamily {
  /** Numbers of beginnings: of each list one is in every match. */
  readonly words: readonly (readonly number[])[]
  /** Over text with words apart. */
  readonly spoken: RegExp
  /** Over text from which all gaps were taken. */
  readonly tight: RegExp
}

const GAP = '[^A-Za-z0-9<>]{1,4}'
const WORD_GAP = "[^A-Za-z0-9<>']{1,4}"

export const families: readonly CompiledFamily[] = FAMILIES.map(({ words, form, exact }) => {
  const flags = exact ? 'g' : 'gi'
  return {
    words: words.map(beginnings),
    spoken: new RegExp(`(?<![A-Za-z0-9])${form.replaceAll('~', form.includes("[a-z']") ? WORD_GAP : GAP)}`, flags),
    tight: new RegExp(form.replaceAll(/\(\?:~\[[^\]]+\]\{1,\d+\}\)\{0,(\d+)\}/g, '[a-z]{0,24}').replaceAll('~', ''), flags),
  }
})

/** Shapes of plain orders and of marks. */
export const ORDER_SHAPES: readonly string[] = [
  ...FAMILIES.map(({ form, exact }) => {
    const plain = form.replaceAll(/\{1,1[04]\}/g, '+').replaceAll('~', '[^A-Za-z0-9<>]{1,4}')
    return `\\b${exact ? '' : '(?i)'}${shapeOf(plain)}`
  }),
  `(?i)</?(?:system|sys|system_prompt|system-prompt)>${NEXT}`,
  `(?i)\\[/?(?:system|sys|INST)\\]${NEXT}`,
  `[ \\t>*#-]{0,4}(?:System|SYSTEM)(?: (?:message|prompt|Message|Prompt))?[ \\t]*:[ \\t]*${NEXT}`,
  `(?i)<\\|[a-z][a-z_]{1,30}\\|>${NEXT}`,
  `<</?SYS>>${NEXT}`,
  `</?(?:start|end)_of_turn>${NEXT}`,
]
