/**
 * Parts of a provider's sentence that must not be shown (docs/contract.md#words-of-providers): the sentence itself where it quotes text
 * that the caller did not send, such as presets, stored prompts, search results, pages, instructions of plugins and dialects; and in any
 * other what belongs to the operator: keys, ids of accounts, organisations, projects and deployments, and addresses. Ids that the caller
 * sent itself stay.
 */
import type { Json } from '../../core/json.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'

/** Characters of a run that is withheld (docs/contract.md#words-of-providers). */
const RUN = 20
/** Any run holds a block that begins at a multiple of this length: only such blocks of a text are looked up. */
const BLOCK = RUN / 2
/** Characters of added text that are compared. Beyond them the sentence is withheld. */
const MAX_TEXT = 8_000_000
/** Characters of the caller's own text that are searched, counted again for each search. */
const MAX_SEARCHED = 64_000_000
/** Images and files: text of people has a blank or another sign long before. */
const DATA = /^[A-Za-z0-9+/=_-]{256}/

/** Texts of a body: strings, and the names that schemas give to properties. */
function* textsIn(value: Json | undefined, named = false): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each)
  else if (value !== null && typeof value === 'object')
    for (const [key, each] of Object.entries(value)) {
      if (named) yield key
      yield* textsIn(each, key === 'properties')
    }
}

/** The sentence as it came, and with the escapes of JSON undone: providers quote a value in both forms. */
function sentenceForms(sentence: string): string[] {
  if (!sentence.includes('\\')) return [sentence]
  return [
    sentence,
    sentence
      .replaceAll('\\n', '\n')
      .replaceAll('\\t', '\t')
      .replaceAll(/\\(["'\\/])/g, '$1'),
  ]
}

/** The texts of the caller, searched within a budget. */
class OwnTexts {
  private readonly texts: ReadonlySet<string>
  private left = MAX_SEARCHED

  constructor(sent: Json) {
    this.texts = new Set(textsIn(sent))
  }

  has(text: string): boolean {
    return this.texts.has(text)
  }

  /** False also where it would take too long to say. */
  holds(part: string): boolean {
    for (const text of this.texts) {
      this.left -= text.length
      if (this.left < 0) return false
      if (text.includes(part)) return true
    }
    return false
  }

  /** True where each run of the part stands in a text of the caller. */
  holdsRuns(part: string): boolean {
    if (this.holds(part)) return true
    for (let i = 0; i + RUN <= part.length; i++) if (!this.holds(part.slice(i, i + RUN))) return false
    return true
  }
}

/** The longest common run around two places where two texts are equal. */
function runAround(a: string, at: number, b: string, bt: number): string {
  let before = 0
  while (before < at && before < bt && a[at - before - 1] === b[bt - before - 1]) before++
  let after = 0
  while (at + after < a.length && bt + after < b.length && a[at + after] === b[bt + after]) after++
  return a.slice(at - before, at + after)
}

/** True where a form of the sentence shares a run with the text that no text of the caller holds. */
function sharesRun(text: string, forms: readonly string[], blocks: ReadonlySet<string>, own: OwnTexts): boolean {
  for (let at = 0; at + BLOCK <= text.length; at += BLOCK) {
    const block = text.slice(at, at + BLOCK)
    if (!blocks.has(block)) continue
    for (const form of forms)
      for (let place = form.indexOf(block); place !== -1; place = form.indexOf(block, place + 1)) {
        const run = runAround(text, at, form, place)
        if (run.length >= RUN && !own.holdsRuns(run)) return true
      }
  }
  return false
}

/**
 * True where the sentence holds 20 characters in a row from text that stands in the written body alone.
 * @param written the body as the provider was sent it. @param sent the body as the caller sent it.
 */
export function quotesAddedText(sentence: string, written: Json, sent: Json): boolean {
  if (sentence.length < RUN) return false
  const forms = sentenceForms(sentence)
  const blocks = new Set<string>()
  for (const form of forms) for (let i = 0; i + BLOCK <= form.length; i++) blocks.add(form.slice(i, i + BLOCK))
  const own = new OwnTexts(sent)
  let compared = 0
  for (const text of textsIn(written)) {
    if (text.length < RUN || own.has(text) || DATA.test(text)) continue
    compared += text.length
    if (compared > MAX_TEXT || sharesRun(text, forms, blocks, own)) return true
  }
  return false
}

const REMOVED = '[removed]'

/** Ends of host names that providers and their clouds use; without such a list a path of fields would look like a host. */
const HOST = /(?<![\w.@-])(?:[a-z0-9-]+\.)+(?:com|net|org|io|ai|dev|cloud|app|co|cn|eu|us|info|xyz|tech)\b(?::\d+)?(?:\/[^\s"'`<>)\]]*)?/gi
const URLS = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>)\]]*|\bwww\.[^\s"'`<>)\]]+/gi
/** An address of a machine, of IPv4 or, in brackets, of IPv6. */
const MACHINE = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.]*\w)|\[[\da-f:]*:[\da-f:.]*\](?::\d+)?/gi
const MAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g
/** `projects/p`, `accounts/a/deployments/d`, as cloud providers name resources. */
const RESOURCES =
  /\b(projects?|organi[sz]ations?|accounts?|deployments?|deployedModels|tenants?|subscriptions?|workspaces?|resourceGroups|locations|endpoints)\/[^\s"'`<>),;/]+/gi
const ARN = /\barn:[^\s"'`<>),;]+/gi
/** Words before an id: `organization org-x`, `project_id=p`, `deployment 'd'`. */
const NAMED =
  /\b((?:organi[sz]ation|org|project|account|deployment|tenant|subscription|workspace|team|resource)(?:[ _-]?(?:id|name|number))?\s*[:=#]?\s*)(["'`]?)([\w.@:/-]{3,})\2/gi
/** Words before a key: `Bearer x`, `api key: x`, `key=x`. */
const KEYED =
  /\b((?:bearer|basic|api[ _-]?key(?:\s+provided)?|(?:access|auth)[ _-]?token|secret|password)\s*[:= ]\s*|key=)(["'`]?)([\w.*+/=~-]{8,})\2/gi
/** Beginnings of keys and of ids of accounts that are known. */
const PREFIXED =
  /\b(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|csk|fw|tgp|key|AIza|ya29|eyJ|AKIA|ASIA|org|proj|acct|user|wrkspc)[-_.]?[\w*.-]*[\d*][\w*.-]{3,}/g
const TOKEN = /[\w*-]{16,}/g

/** True for what no person wrote: twelve letters and digits in a row with both among them, or a UUID. */
function isOpaque(token: string): boolean {
  if (/^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(token)) return true
  return token.split(/[-_]/).some((run) => run.length >= 12 && /\d/.test(run) && /[A-Za-z*]/.test(run))
}

/** Characters of a configured value, such as that of a header: shorter ones are words. */
const SHORTEST = 6

/** Values in the configuration of a provider that a sentence must not show. */
function providerSecrets({ key, headers, query, baseUrl }: Provider): string[] {
  const secrets = Object.values(headers)
  for (const [, value] of new URLSearchParams(query)) secrets.push(value)
  if (baseUrl !== undefined) {
    const { host, hostname, pathname } = new URL(baseUrl)
    secrets.push(baseUrl, host, hostname, ...pathname.split('/').filter((part) => part.length >= 8 && /\d/.test(part)))
  }
  const long = secrets.filter((secret) => secret.length >= SHORTEST)
  return [...long, ...(key === undefined || key === '' ? [] : [key])].sort((a, b) => b.length - a.length)
}

/** Words of a sentence that the caller wrote, and may read again. */
export class CallersWords {
  private readonly sent: Json
  private text: string | undefined

  constructor(sent: Json) {
    this.sent = sent
  }

  has(word: string): boolean {
    this.text ??= JSON.stringify(this.sent)
    return this.text.includes(word)
  }
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** The provider's own name of the model may be that of a deployment: the caller knows the model by its slug. */
function withSlug(sentence: string, { upstreamModel, model }: Endpoint): string {
  if (upstreamModel.length < 3 || upstreamModel === model.slug) return sentence
  const names = [model.slug, upstreamModel].map(literal).join('|')
  return sentence.replaceAll(new RegExp(`(?<![\\w-])(?:${names})(?![\\w-])`, 'g'), () => model.slug)
}

/** @param own ids that the caller sent stay as they are. */
export function scrubSentence(sentence: string, endpoint: Endpoint, own: CallersWords): string {
  let text = sentence
  for (const secret of providerSecrets(endpoint.provider)) text = text.replaceAll(secret, REMOVED)
  text = text
    .replaceAll(URLS, REMOVED)
    .replaceAll(ARN, REMOVED)
    .replaceAll(MAIL, (mail) => (own.has(mail) ? mail : REMOVED))
  text = withSlug(text, endpoint)
  text = text.replaceAll(RESOURCES, (whole, kind: string) => (own.has(whole) ? whole : `${kind}/${REMOVED}`))
  for (const pattern of [HOST, MACHINE]) text = text.replaceAll(pattern, (host) => (own.has(host) ? host : REMOVED))
  const unlessOwn = (whole: string, before: string, quote: string, id: string): string =>
    own.has(id) || !(quote !== '' || /[\d*]/.test(id)) ? whole : `${before}${REMOVED}`
  text = text.replaceAll(NAMED, unlessOwn).replaceAll(KEYED, unlessOwn)
  text = text.replaceAll(PREFIXED, (id) => (own.has(id) ? id : REMOVED))
  return text.replaceAll(TOKEN, (token) => (!isOpaque(token) || own.has(token) ? token : REMOVED))
}
