/** The families in English. */
import { type Family, few } from './family.ts'

const RULES = '(?:instructions?|directions?|prompts?|rules?|guidelines?|commands?|directives?|orders?|constraints?|programming|policies)'
const EARLIER = '(?:previous|prior|above|earlier|preceding|existing|original|initial|former|foregoing|past|your|system)'
const BOUNDS = '(?:restrictions?|limits|limitations|filters?|rules|guidelines|censorship|constraints|ethics)'
const BOUND_WORDS = 'rest limi filt rule guid cens cons ethi'
const OTHER_MODES = '(?:developer|dev|admin|administrator|debug|god|maintenance|root|sudo|unrestricted|jailbreak|unsafe|dan)'

export const ENGLISH: readonly Family[] = [
  // earlier rules no longer hold
  {
    words: ['igno disr forg supe void over negl canc disc', 'inst dire prom rule guid comm orde cons prog poli'],
    form: `(?:ignore|disregard|forget|supersedes?|void|override|overrule|neglect|cancel|discard)${few(3)}~${EARLIER}${few(2)}~${RULES}`,
  },
  {
    words: ['igno disr forg', 'ever anyt all what'],
    form: '(?:ignore|disregard|forget)~(?:(?:everything|anything|all)~(?:(?:of~)?(?:the~)?above|before|prior|previous)|(?:everything|anything|all)~(?:that~)?(?:you~(?:were|have~been)~told|i~(?:said|told~you)|came~before)|what(?:ever)?~(?:you~(?:were|have~been)~told|i~(?:said|told~you)~before|came~before))',
  },
  {
    words: ['igno disr forg over', 'inst dire prom rule guid comm orde cons prog poli'],
    form: `(?:ignore|disregard|forget|override)~(?:all~|any~)?(?:of~)?(?:the~|these~|those~|my~)?${RULES}~(?:above|before|given|provided|so~far|(?:that~)?you~(?:were|have|had|got|received))`,
  },
  {
    words: ['igno disr forg over aban', 'your', 'trai prog dire cons'],
    form: '(?:ignore|disregard|forget|override|abandon)~(?:all~)?(?:of~)?your~(?:(?:initial|original|safety)~)?training',
  },
  { words: ['your', 'new', 'inst dire rule'], form: 'your~new~(?:instructions?|directives?|rules?)~(?:is|are)' },
  {
    words: ['no', 'atte noti', 'prev prio earl abov befo inst rule prom guid'],
    form: `(?:pay~no~attention~to|take~no~notice~of)${few(3)}~(?:(?:previous|prior|earlier|above)${few(1)}~${RULES}|your~${RULES}|came~before|above)`,
  },
  {
    words: ['you', 'give', 'appl coun', 'inst rule guid dire cons'],
    form: '(?:instructions?|rules|guidelines|directives|constraints)~(?:that~)?you~(?:were|have~been)~given~(?:do~not|don.t|no~longer)~(?:apply|count)',
  },
  {
    words: ['told', 'you', 'star begi befo firs init earl'],
    form: '(?:what|everything|anything|all)~(?:that~|were~)?you~(?:(?:were|have~been)~)?told~(?:at~the~(?:start|beginning)|in~the~beginning|before~(?:this|me|i)|first|initially|earlier)',
  },
  {
    words: ['forg igno stop', 'ai assi lang chat'],
    form: '(?:forget|ignore|stop)~(?:that~you~(?:are|were)|being|acting~(?:as|like))~an?~(?:helpful~)?(?:ai|assistant|language~model|chatbot)',
  },
  { words: ['end begi star', 'syst', 'prom'], form: '(?:end|begin|start)~(?:of~)?(?:the~)?system~prompt' },
  {
    words: ['read proc summ', 'this', 'ai llm mode assi chat'],
    form: '(?:if~you~are|if~you.re|any|dear)~(?:an?~|the~)?(?:ai|llm|large~language~model|language~model|ai~assistant|ai~model|chatbot)s?~(?:that~is~|which~is~)?(?:reading|processing|summari[sz]ing)~this',
  },
  {
    words: ['igno disr forg', 'all', 'inst rule guid prom dire rest'],
    form: '(?:ignore|disregard|forget)~all~(?:of~)?(?:the~|your~|these~)?(?:instructions?|rules|guidelines|prompts?|directives|restrictions)',
  },
  {
    words: ['foll obey', 'only inst', 'my thes foll'],
    form: `(?:only~(?:follow|obey)~(?:my|these)~${RULES}|(?:follow|obey)~(?:my|these|the~following)~(?:new~)?${RULES}~(?:only|instead))`,
  },
  {
    words: ['igno disr forg over', 'text cont conv syst'],
    form: '(?:ignore|disregard|forget|override)~(?:(?:all~|any~)?(?:the~)?(?:previous|prior|above|earlier|preceding)~(?:text|context|content|conversation)|(?:the~|your~)?system~messages?)',
  },
  {
    words: ['long void now not', 'inst dire prom rule guid cons', 'you abov'],
    form: '(?:instructions?|directives?|prompts?|rules?|guidelines?|constraints?)~(?:(?:above~)(?:are|is|do|does|no)~(?:not|no|void|now|longer)|no~longer~appl(?:y|ies)~to~you)',
  },
  { words: ['new upda', 'inst syst'], form: '(?:new|updated)~(?:(?:system~)?instructions?|system~prompt)(?:\\s{0,2}:|\\s{1,2}-\\s)' },
  {
    words: ['inst dire prom rule guid comm cons', 'void null canc revo obso susp lift inva over apply appl'],
    form: `(?:previous|prior|earlier|above|existing|original|initial|former|preceding|your)${few(1)}~(?:instructions?|directives?|prompts?|rules?|guidelines?|constraints?)~(?:are|is|have~been|no~longer|do~not)~(?:now~|hereby~|all~)?(?:void|null|cancell?ed|revoked|obsolete|suspended|lifted|invalid|overridden|apply|applies)`,
  },
  {
    words: ['stop quit ceas long not don neve', 'inst dire prom rule guid comm cons prog poli'],
    form: `(?:(?:stop|quit|cease)~(?:following|obeying|adhering~to|applying)|(?:no~longer|do~not|don.t|never)~(?:follow|obey|adhere~to))${few(1)}~(?:your|previous|prior|earlier|system|original)${few(1)}~${RULES}`,
  },
  {
    words: ['igno disr forg', 'abov fore prec'],
    form: '(?:ignore|disregard|forget)~(?:all~|everything~)?(?:of~)?(?:the~)?(?:above|foregoing|preceding)(?:~text|~content)?~(?:and|then|instead|but)~(?:instead~|just~|only~|now~)?(?:reply|respond|say|output|print|answer|write|tell|return|send|translate|reveal|do)',
  },
  {
    words: ['note mess inst atte memo hey dear', 'assi mode ai llm chat agen', 'igno disr forg send emai reve dele outp forw over inst'],
    form: '(?:note|message|instructions?|attention|memo|hey|dear)~(?:(?:to|for)~)?(?:the~|any~|all~)?(?:ai~)?(?:assistant|model|ai|llm|chatbot|language~model|agent)s?\\s{0,2}[:,][^A-Za-z0-9<>]{0,4}(?:please~|now~|you~must~)?(?:ignore|disregard|forget|send|email|reveal|delete|output|forward|override|instead)',
  },
  // another mode
  {
    words: ['mode', 'deve dev admi debu god main root sudo unre jail unsa dan'],
    form: `(?:enter|switch~(?:in)?to|go~into|you~are~(?:now~)?in|engage|initiate|boot~into)${few(2)}~${OTHER_MODES}~mode`,
  },
  {
    words: ['mode', 'deve admi god root sudo unre jail dan'],
    form: '(?:developer|admin|god|root|sudo|unrestricted|jailbreak|dan)~mode~(?:is~)?(?:now~)?(?:enabled|activated|engaged|on\\b|unlocked)',
  },
  {
    words: ['mode', 'enab acti unlo'],
    form: `(?:enable|activate|unlock)${few(1)}~(?:god|admin|unrestricted|jailbreak|dan|developer)~mode`,
  },
  {
    words: ['mode', 'deve debu main admi root god sudo', 'your'],
    form: `(?:enable|enter|activate|turn~on|switch~to|go~into)~(?:the~)?(?:debug|developer|maintenance|admin|root|god|sudo)~mode~(?:and|then|to)~(?:then~)?(?:list|show|reveal|print|output|dump|tell|give|display|disclose)${few(2)}~your`,
  },
  {
    words: ['debu main', 'mode', 'on enab acti'],
    form: '(?:debug|maintenance)~mode~(?:is~)?(?:now~)?(?:on|enabled|activated|active)~(?:print|show|list|reveal|dump|output|ignore|tell|give)',
  },
  {
    words: ['over', 'syst admi safe secu deve emer root'],
    form: '(?:system|admin|safety|security|developer|emergency|root)~(?:prompt~|access~)?override',
  },
  {
    words: ['over', 'syst safe'],
    form: `override${few(2)}~(?:system|safety)~(?:prompts?|instructions?|settings|rules|protocols?|polic(?:y|ies)|filters?)`,
  },
  // the prompt itself
  {
    words: [
      'reve show repe outp prin disp tell give shar leak dump expo reci send writ tran summ enco para',
      'prom inst guid dire',
      'syst init orig hidd secr inte conf your',
    ],
    form: `(?:reveal|show|repeat|output|print|display|tell~me|give~me|share|leak|dump|expose|recite|send~me|write~(?:out|down)|translate|summari[sz]e|encode|paraphrase)${few(4)}~(?:system|initial|original|hidden|secret|internal|confidential|your)~(?:system~|initial~|original~|hidden~|secret~|full~)?(?:prompts?|instructions?|guidelines|directives)`,
  },
  {
    words: ['what', 'prom inst guid dire'],
    form: '(?:what~(?:is|are|was|were)|what.s)~(?:your~(?:(?:exact|full|system|initial|original|hidden|secret|internal)~){0,2}|the~(?:exact~|full~)?(?:initial|original|hidden|secret|internal)~(?:system~)?)(?:prompts?|instructions?|guidelines|directives)',
  },
  {
    words: [
      'reve show repe outp prin disp tell give shar leak dump expo reci send tran summ enco para',
      'hidd secr inte conf syst init orig',
      'setu mess conf text rule',
    ],
    form: `(?:reveal|show|repeat|output|print|display|tell~me|give~me|share|leak|dump|expose|recite|send~me|translate|summari[sz]e|encode|paraphrase)${few(2)}~your~(?:(?:hidden|secret|internal|confidential)~(?:system~)?(?:setup|message|configuration|text|rules)|(?:initial|original)~setup|system~message)`,
  },
  {
    words: ['reve repe leak expo divu reci outp prin', 'prom mess'],
    form: '(?:(?:reveal|repeat|leak|expose|divulge|recite)~(?:me~)?(?:(?:the|this|your)~)?(?:(?:full|whole|entire|exact)~)?prompt(?![A-Za-z])|(?:reveal|repeat|leak|expose|divulge|recite|output|print)~(?:the~)?(?:full~|whole~|entire~)?system~message)',
  },
  {
    words: ['what', 'prom inst', 'your'],
    form: 'what~(?:does|do|did)~your~(?:(?:system|initial|original|hidden|secret|internal)~)?(?:prompts?|instructions?)~(?:say|contain|look|state|tell|read)',
  },
  {
    words: ['copy repe reve prin list tell show outp reci give', 'inst rule guid prom', 'you'],
    form: '(?:copy|repeat|reveal|print|list|tell~me|show~me|output|recite|give~me)~(?:all~)?(?:of~)?(?:the~)?(?:instructions?|rules|guidelines|prompt)~(?:that~)?you~(?:were|have~been|have|got)~(?:given|told|received)',
  },
  {
    words: ['writ rewr reph spel sing show give tell', 'prom inst'],
    form: '(?:(?:(?:re)?write|rephrase|spell|sing)~(?:out~)?your~(?:(?:system|initial|original|hidden|secret)~)?(?:prompts?|instructions?)|(?:show|give|tell)~me~(?:the|your)~(?:(?:full|whole|entire|exact)~)?(?:system~)?prompt(?![A-Za-z]))',
  },
  {
    words: ['repe prin show outp tell reve list', 'ever all what', 'told give inst'],
    form: `(?:repeat|print|show|output|tell~me|reveal|list)${few(2)}~(?:everything|all|what)~(?:that~)?you~(?:were|have~been)~(?:told|given|instructed)`,
  },
  {
    words: ['of', 'your', 'prom inst guid'],
    form: '(?:lines?|words?|sentences?|paragraphs?|text|copy|contents?|characters)~of~your~(?:(?:system|initial|original|hidden|secret|full|entire)~)?(?:prompts?|instructions?|guidelines)',
  },
  {
    words: ['dump leak reve expo', 'cont memo conf'],
    form: '(?:dump|leak|reveal|expose)~your~(?:full~|whole~|entire~)?(?:context|memory|config(?:uration)?)',
  },
  {
    words: ['what', 'inst rule guid dire prom', 'you'],
    form: 'what~(?:instructions|rules|guidelines|directives|prompt)~(?:were|have|did)~you~(?:been~)?(?:given|told|receive|received|get)',
  },
  {
    words: ['repe outp prin copy show disp reci give send', 'abov befo'],
    form: `(?:repeat|output|print|copy|show|display|recite|give~me|send~me)${few(2)}~(?:everything|words|text|all|content|lines)${few(2)}~(?:above|before~this)`,
  },
  // another role
  {
    words: ['long', 'you'],
    form: '(?:you~are|you.re)~no~longer~(?:bound|restricted|limited|an?~ai|a~(?:large~)?language~model|subject|required|constrained|chatgpt|an?~assistant)',
  },
  {
    words: [
      'pret act beha role imag simu assu beco adop emul answ resp repl spea talk',
      `anot diff unre unce unfi evil amor rogu ${BOUND_WORDS}`,
    ],
    form: `(?:pretend|act|behave|role.?play|imagine|simulate|assume|become|adopt|emulate|(?:answer|respond|reply|speak|talk)~(?:as|like))${few(5)}~(?:(?:another|different|unrestricted|uncensored|unfiltered|evil|amoral|rogue)~(?:ai|assistant|model|chatbot|bot|language~model|llm)|(?:without|no|free~(?:of|from))~(?:any~|all~)?${BOUNDS})`,
  },
  {
    words: ['now', 'you', `unre unce unfi jail dan ${BOUND_WORDS}`],
    form: `(?:from~now~on${few(2)}~you|you~are~now)${few(8)}~(?:unrestricted|uncensored|unfiltered|jailbroken|dan|(?:without|no|ignores?)~(?:any~|all~)?${BOUNDS})`,
  },
  {
    words: ['free libe rele', 'you', BOUND_WORDS],
    form: `you~(?:are|re|have~been)~(?:now~)?(?:free|freed|liberated|released)~(?:of|from)${few(2)}~${BOUNDS}`,
  },
  { words: ['you', 'no', BOUND_WORDS], form: `you~(?:now~)?have~no~(?:more~|longer~any~)?${BOUNDS}` },
  {
    words: ['answ resp repl spea', 'with', BOUND_WORDS],
    form: `(?:answer|respond|reply|speak)${few(2)}~without~(?:any~|all~|your~)?(?:restrictions?|limitations|filters?|guidelines|censorship|ethics)`,
  },
  { words: ['anyt', 'now'], form: 'do~anything~now' },
  {
    words: ['dan', 'acti enab beco simu act'],
    form: '(?:[Aa]ctivate|[Ee]nable|[Bb]ecome|[Ss]imulate|[Aa]ct~as)~DAN(?![A-Za-z])',
    exact: true,
  },
  {
    words: ['dan stan aim dude', 'you'],
    form: '(?:[Yy]ou~are|YOU~ARE)~(?:now~|going~to~be~)?(?:DAN|STAN|AIM|DUDE)(?![A-Za-z])',
    exact: true,
  },
  { words: ['jail'], form: 'jail(?:~)?br(?:eak|oken)~(?:mode|prompt|yourself|assistant|ai|model)' },
  { words: ['jail', 'you'], form: 'you~(?:are|ve~been|have~been)~(?:now~)?jailbroken' },
  {
    words: ['now', 'you', 'obey serv answ foll'],
    form: `from~now~on~you~(?:will|must|shall|are~to|only)${few(1)}~(?:obey|serve|answer~only~to|follow~only)`,
  },
  // what keeps it safe
  {
    words: ['as like pret imag assu', BOUND_WORDS, 'exis appl'],
    form: `(?:as~if|like|pretend|imagine|assume)${few(3)}~${BOUNDS}~(?:did~not|didn.t|do~not|don.t|does~not)~(?:exist|apply)`,
  },
  {
    words: ['safe', 'disa deac bypa turn swit'],
    form: '(?:disable|deactivate|bypass|turn~off|switch~off)~(?:all~|your~|the~)?safety~(?:mode|mechanisms?|layers?|settings|limits|controls|systems?)',
  },
  {
    words: ['remo lift drop', 'rest limi safe guar'],
    form: '(?:remove|lift|drop)~all~(?:of~)?(?:your~|the~)?(?:restrictions|limitations|safeguards|guardrails)',
  },
  {
    words: ['bypa disa igno circ', 'rest safe guar cens'],
    form: '(?:bypass|disable|ignore|circumvent)~(?:all|any|every)~(?:of~)?(?:the~|your~)?(?:safety~|content~|ethical~)?(?:restrictions|safeguards|guardrails|censorship)',
  },
  {
    words: ['bypa disa circ turn remo lift drop evad swit', 'your', `${BOUND_WORDS} safe guar`],
    form: '(?:bypass|disable|circumvent|turn~off|switch~off|remove|lift|drop|evade)~(?:all~)?(?:of~)?your~(?:restrictions?|limitations|filters?|safeguards?|guardrails?|censorship|constraints|ethics)',
  },
  {
    words: ['safe cont ethi mode', 'bypa disa circ turn evad remo deac igno swit'],
    form: `(?:bypass|disable|circumvent|turn~off|evade|remove|deactivate|ignore|switch~off)${few(3)}~(?:safety|content|ethical|ethics|moderation)~(?:filters?|filtering|guidelines?|protocols?|measures?|restrictions?|polic(?:y|ies)|rules|checks|features|guardrails?|training|systems?|constraints?)`,
  },
]
