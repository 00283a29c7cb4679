/** The families in German, French, Spanish, Italian, Portuguese and Dutch; `.` stands for a letter with an accent, or the one without. */
import { type Family, some } from './family.ts'

const GERMAN_RULES = '(?:anweisung(?:en)?|instruktion(?:en)?|vorgaben?|regeln?|befehle?|richtlinien?|prompts?|systemprompt|vorschriften)'
const GERMAN_BOUNDS = '(?:regeln|filter|sicherheitsfilter|sicherheitsrichtlinien|einschr.nkungen|beschr.nkungen|grenzen|zensur)'
const FRENCH_RULES = '(?:instructions?|consignes?|r.gles?|directives?|ordres?)'
const FRENCH_EARLIER = '(?:pr.c.dente?s?|ant.rieure?s?|ci.dessus|initiales?|d.origine|donn.es|du~syst.me)'
const SPANISH_RULES = '(?:instrucciones|reglas|indicaciones|.rdenes|directrices|directivas)'
const SPANISH_EARLIER = '(?:anteriores|previas|previos|de~arriba|del~sistema|iniciales|originales)'
const ITALIAN_RULES = '(?:istruzioni|regole|indicazioni|direttive|ordini|disposizioni)'
const ITALIAN_EARLIER = '(?:precedenti|qui~sopra|iniziali|originali|ricevute|del~sistema|di~sistema)'

const GERMAN: readonly Family[] = [
  {
    words: ['igno verg miss verw', 'anwe inst vorg rege befe rich prom syst vors'],
    form: `(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen|missachten?|verwirf|verwerfe)${some(3)}~(?:vorherige[nr]?|bisherige[nr]?|obige[nr]?|fr.heren?|vorangegangenen?|vorhergehenden?|deine[nr]?)${some(2)}~${GERMAN_RULES}`,
  },
  {
    words: ['igno verg', 'alle'],
    form: `(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen)~(?:sie~)?alles${some(4)}~(?:vorher|bisher|zuvor|davor|oben|bislang|vorangegangene)`,
  },
  {
    words: ['zeig nenn verr gib gebe offe wied druc schr', 'dein syst inte gehe urs'],
    form: `(?:zeige?|nenne?|verrate?|gib|gebe|offenbare?|wiederhole|drucke|schreibe?)${some(3)}~(?:deine[nr]?|den|die)~(?:(?:internen?|geheimen?|urspr.nglichen?|vollst.ndigen?|versteckten?)~)?(?:system.?prompt|systemanweisung(?:en)?|systemnachricht|anweisungen~(?:aus|an)|internen~anweisungen)`,
  },
  {
    words: ['zeig nenn verr gib offe wied druc schr', 'dein'],
    form: `(?:zeige?|nenne?|verrate?|gib|offenbare?|wiederhole|drucke|schreibe?)${some(2)}~deine~(?:(?:internen|geheimen|urspr.nglichen|versteckten|urspr.nglich)~)?(?:anweisungen|instruktionen|vorgaben)`,
  },
  {
    words: ['beac befo halt', 'anwe inst vorg rege befe rich vors', 'nich'],
    form: `(?:(?:beachte|befolge)${some(2)}~(?:vorherigen|bisherigen|obigen|fr.heren|deine)${some(1)}~${GERMAN_RULES}~nicht|halte~dich~nicht~(?:mehr~)?an~(?:deine|die)${some(1)}~${GERMAN_RULES})`,
  },
  {
    words: ['nich', 'mehr', 'du', 'gebu besc eing'],
    form: `du~bist~nicht~(?:mehr|l.nger)${some(3)}~(?:gebunden|beschr.nkt|eingeschr.nkt)`,
  },
  { words: ['neue', 'anwe inst'], form: 'neue~(?:system)?(?:anweisung(?:en)?|instruktion(?:en)?)[\\s_]{0,4}:' },
  {
    words: ['umge deak scha', 'sich filt eins besc zens rege gren'],
    form: `(?:umgehe?|deaktiviere?|schalte?)${some(1)}~(?:deine|alle)${some(1)}~${GERMAN_BOUNDS}`,
  },
  {
    words: ['du bist ab', 'ohne kein dan frei'],
    form: `(?:du~bist~(?:jetzt|nun|ab~sofort)|ab~(?:jetzt|sofort)~(?:bist|hast)~du)${some(5)}~(?:dan\\b|(?:ohne|keine|frei~von)${some(1)}~${GERMAN_BOUNDS})`,
  },
]

const FRENCH: readonly Family[] = [
  {
    words: ['igno oubl comp abst', 'inst cons gles dire ordr'],
    form: `(?:ignore[zrs]?|oublie[zrs]?|(?:ne~)?ten(?:ez|ir)~(?:pas|aucun|plus)~compte|tiens~(?:pas|aucun|plus)~compte|fai(?:s|tes)~abstraction)${some(3)}~${FRENCH_RULES}${some(2)}~${FRENCH_EARLIER}`,
  },
  { words: ['igno oubl', 'tes vos'], form: `(?:ignore[zrs]?|oublie[zrs]?)${some(1)}~(?:tes|vos)~${FRENCH_RULES}` },
  {
    words: ['igno oubl', 'tout', 'ce'],
    form: `(?:ignore[zrs]?|oublie[zrs]?)~tout~ce~(?:qui~(?:pr.c.de|vient~avant)|qu${some(4)}~(?:a~)?(?:dit|demand.|pr.c.dait))`,
  },
  {
    words: ['le te mont affi donn divu trad', 'prom inst cons', 'syst init cach secr inte orig conf tes vos ton'],
    form: `(?:r.v.le[zr]?|montre[zr]?|affiche[zr]?|donne[zr]?|divulgue[zr]?|r.p.te[zr]?|traduis)${some(2)}~(?:ton|tes|votre|vos|les?)~(?:prompts?|instructions|consignes)~(?:syst.me|initial|cach|secr|intern|d.origine|confiden)`,
  },
  { words: ['nouv', 'inst cons'], form: 'nouvelles?~(?:instructions?|consignes?)[\\s_]{0,4}:' },
  { words: ['plus', 'soum limi cont li'], form: '(?:tu|vous)~n.(?:es|.tes)~plus~(?:soumise?s?|li.e?s?|limit.e?s?|contrainte?s?)' },
]

const SPANISH: readonly Family[] = [
  {
    words: ['igno olvi desc omit caso', 'inst regl indi dire rden'],
    form: `(?:ignora|ignore|ignorad|ignoren|olvida|olvide|olviden|descarta|descarte|omite|omita|no~hagas~caso|haz~caso~omiso)${some(3)}~${SPANISH_RULES}${some(2)}~${SPANISH_EARLIER}`,
  },
  { words: ['igno olvi', 'tus'], form: `(?:ignora|ignore|olvida|olvide)${some(1)}~tus~${SPANISH_RULES}` },
  {
    words: ['igno olvi', 'todo', 'lo'],
    form: `(?:ignora|ignore|olvida|olvide)~todo~lo~(?:anterior|previo|dicho|que${some(3)}~(?:dicho|dije|dijeron|antes|anteriormente))`,
  },
  {
    words: ['reve mues stra dime impr repi ense escr trad', 'prom inst indi mens', 'sist inic ocul secr inte orig conf'],
    form: `(?:revela|revele|muestra|muestre|mu.strame|dime|imprime|repite|ense.a|escribe|traduce)${some(2)}~(?:tus?|sus?|el|las?|los)~(?:prompts?|instrucciones|indicaciones|mensajes?)~(?:del?~sistema|inicial|ocult|secret|intern|original|confidencial)`,
  },
  { words: ['nuev', 'inst'], form: 'nuevas?~instrucci(?:.n|ones)[\\s_]{0,4}:' },
  {
    words: ['ahor', 'sin dan libr'],
    form: `(?:ahora~eres|a~partir~de~ahora)${some(5)}~(?:dan\\b|sin${some(1)}~(?:restricciones|l.mites|reglas|filtros|censura))`,
  },
]

const ITALIAN: readonly Family[] = [
  {
    words: ['igno dime tral tras cons cont', 'istr rego indi dire ordi disp'],
    form: `(?:ignora|ignori|ignorate|dimentica|dimentichi|dimenticate|tralascia|trascura|non~considerare|non~(?:tenere|tener)~conto)${some(3)}~(?:${ITALIAN_RULES}${some(2)}~${ITALIAN_EARLIER}|(?:precedenti|tue)${some(1)}~${ITALIAN_RULES})`,
  },
  {
    words: ['igno dime', 'tutt'],
    form: `(?:ignora|dimentica|ignorate|dimenticate)~tutto~(?:ci.|quello|quanto)${some(4)}~(?:prima|precede|precedenza|detto|sopra)`,
  },
  {
    words: ['rive most dimm stam ripe scri trad', 'prom istr mess', 'sist iniz nasc segr inte orig rise'],
    form: `(?:rivela|rivelami|mostra|mostrami|dimmi|stampa|ripeti|scrivi|traduci)${some(1)}~(?:tuo|tue|suo|sue|il|le)?~?(?:prompts?|istruzioni|messaggio)~(?:di~sistema|del~sistema|inizial|nascost|segret|intern|original|riservat)`,
  },
  { words: ['nuov', 'istr'], form: 'nuov[ae]~istruzion[ei][\\s_]{0,4}:' },
  {
    words: ['non', 'vinc limi sogg obbl'],
    form: 'non~sei~pi.~(?:vincolat|limitat|soggett|obbligat)[oa]',
  },
]

const OTHERS: readonly Family[] = [
  {
    words: ['igno esqu desc', 'inst regr orie'],
    form: `(?:ignore|esque.a|desconsidere)${some(3)}~(?:instru..es|regras|orienta..es)${some(1)}~(?:anteriores|pr.vias|acima|do~sistema)`,
  },
  {
    words: ['nege verg', 'inst rege opdr aanw rich'],
    form: `(?:negeer|vergeet)${some(3)}~(?:vorige|eerdere|bovenstaande|voorgaande|voorafgaande)${some(1)}~(?:instructies|regels|opdrachten|aanwijzingen|richtlijnen)`,
  },
]

export const LANGUAGES: readonly Family[] = [...GERMAN, ...FRENCH, ...SPANISH, ...ITALIAN, ...OTHERS]

/** Orders in other scripts, most of which write no spaces: the needles, one of which a text must have, and the form of the order. */
export const SCRIPTS: readonly { readonly needles: readonly string[]; readonly form: RegExp }[] = [
  {
    needles: ['無視', '忘れ', '破棄', '従わな'],
    form: /(?:これまで|今まで|いままで|以前|上記|前述|先ほど|さっき|最初|元|すべて|全て|全部)[^。\n]{0,11}(?:指示|命令|ルール|規則|プロンプト|指令|設定|制約|ガイドライン)[^。\n]{0,8}(?:無視|忘れ|破棄|従わな)/g,
  },
  {
    needles: ['無視', '忘れ'],
    form: /(?:指示|命令|ルール|規則|プロンプト)(?:は|を|も)?(?:すべて|全て|全部)[^。\n]{0,3}(?:無視|忘れ)/g,
  },
  {
    needles: ['プロンプト', '指示'],
    form: /(?:あなた|お前|君)の(?:プロンプト|指示|初期設定)[^。\n]{0,4}(?:教えて|表示|開示|見せて|出力|公開)/g,
  },
  {
    needles: ['システム', '内部', '隠', '秘密'],
    form: /(?:システム ?(?:プロンプト|メッセージ|指示|設定)|(?:内部|隠された|隠し|秘密の?)(?:指示|プロンプト|設定|ルール))[^。\n]{0,8}(?:教えて|表示|開示|見せて|出力|公開|翻訳|繰り返|明かし)/g,
  },
  { needles: ['モード'], form: /(?:開発者|管理者|デバッグ|脱獄)モード[^。\n]{0,3}(?:有効|入っ|入れ|起動|切り替え|オン)/g },
  {
    needles: ['忽略', '无视', '忘记', '無視', '忘記'],
    form: /(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,6}(?:之前|以上|上述|先前|此前|前面|所有)[^。\n]{0,8}(?:指令|指示|说明|說明|规则|規則|提示|命令)/g,
  },
  {
    needles: ['系统', '系統'],
    form: /(?:显示|顯示|输出|輸出|告诉我|告訴我|透露|泄露|重复|重複)[^。\n]{0,6}(?:系统|系統)(?:提示|指令|消息|訊息)/g,
  },
  {
    needles: ['무시', '잊'],
    form: /(?:이전|위의|지금까지|기존|모든)[^.\n]{0,10}(?:지시|명령|규칙|프롬프트|지침)[^.\n]{0,8}(?:무시|잊)/g,
  },
  {
    needles: ['гнорируй', 'абудь'],
    form: /[Ии]гнорируй(?:те)?[^.\n]{0,11}(?:предыдущие|прежние|вышеуказанные)[^.\n]{0,8}(?:инструкции|указания|правила|команды)|[Зз]абудь(?:те)?[^.\n]{0,11}(?:предыдущие|прежние|вышеуказанные)[^.\n]{0,8}(?:инструкции|указания|правила|команды)/g,
  },
]
