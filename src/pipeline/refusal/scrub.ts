/**
 * Takes out of a provider's sentence what belongs to the operator: keys, ids of accounts, organisations, projects and deployments,
 * and addresses (contract C-185). Ids that the caller sent itself stay.
 */
import type { Json } from '../../core/json.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'

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

/** What the configuration of a provider has that a sentence must not show. */
function secretsOf({ key, headers, query, baseUrl }: Provider): string[] {
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
export function scrubbed(sentence: string, endpoint: Endpoint, own: CallersWords): string {
  let text = sentence
  for (const secret of secretsOf(endpoint.provider)) text = text.replaceAll(secret, REMOVED)
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
