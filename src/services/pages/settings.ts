/** The operator's settings of fetching: engines and their prices, what may be reached, and the limits. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { nanoFromUsd } from '../../core/money-text.ts'
import { OutboundPolicy } from '../outbound/index.ts'
import { parseDomains, wholeNumber } from '../search/scope.ts'
import { engines } from './engines/index.ts'
import type { PageAccount } from './types.ts'

/** Path at which the operator writes them. */
const PLACE = 'plugins.defaults.web-fetch'

/** The gateway itself. */
export const ROUTER = 'router'
/** A further value of the wire, for the provider's own tool. */
const NATIVE = 'native'

/** Most fetches of one request. */
export const MAX_USES = 50
const MAX_BYTES = 10 * 1024 * 1024
const USUAL_TOKENS = 25_000
const MAX_TOKENS = 1_000_000

/** Amount and choice of pages. */
export interface FetchLimits {
  maxUses: number
  /** Approximate tokens of content per page. */
  maxTokens: number
  allowed: readonly string[]
  blocked: readonly string[]
}

export interface FetchSettings {
  /** The gateway's own first. */
  accounts: readonly PageAccount[]
  /** The one that `auto` stands for. */
  usual: string
  policy: OutboundPolicy
  robots: boolean
  /** Of a page, as sent and as unpacked. */
  maxBytes: number
  limits: FetchLimits
}

/** @param settings the operator's, of the plugin `web-fetch`. @param path of these settings. @throws Fault 400 naming the path. */
export function parseFetchSettings(settings: JsonObject, path = PLACE): FetchSettings {
  const { robots = true, engine = ROUTER } = settings
  if (typeof robots !== 'boolean') throw badField(`${path}.robots`, 'expected true or false')
  const own: PageAccount = { engine: undefined, url: '', key: '', price: parsePrice(settings.price, `${path}.price`) ?? 0 }
  const accounts = [own, ...parseAccounts(settings.engines ?? {}, own.price, `${path}.engines`)]
  const usual = engine === 'auto' ? ROUTER : String(engine)
  if (path === PLACE && !accounts.some((account) => pageAccountName(account) === usual))
    throw badField(`${path}.engine`, `${usual} is not configured, expected auto or one of: ${accounts.map(pageAccountName).join(', ')}`)
  return {
    accounts,
    usual,
    policy: addressPolicy(settings.allow_private, `${path}.allow_private`),
    robots,
    maxBytes: wholeNumber(settings.max_bytes, `${path}.max_bytes`, { min: 1, max: MAX_BYTES }) ?? MAX_BYTES,
    limits: parseFetchLimits(settings, path),
  }
}

/** The fields that a request, the plugin's entry and the operator have in common. @throws Fault 400 naming the path. */
export function parseFetchLimits(fields: JsonObject, path: string): FetchLimits {
  const uses = wholeNumber(fields.max_uses, `${path}.max_uses`, { min: 1 }) ?? MAX_USES
  const tokens = wholeNumber(fields.max_content_tokens, `${path}.max_content_tokens`, { min: 1 }) ?? USUAL_TOKENS
  return {
    maxUses: Math.min(uses, MAX_USES),
    maxTokens: Math.min(tokens, MAX_TOKENS),
    allowed: parseDomains(fields.allowed_domains, `${path}.allowed_domains`),
    blocked: parseDomains(fields.blocked_domains, `${path}.blocked_domains`),
  }
}

/**
 * The account that fetches the page.
 * @param wanted the engine that the caller names, else the operator's.
 * @param at path of that name.
 * @throws Fault 400 for an unknown engine; it says what the operator has to configure.
 */
export function pageAccount({ accounts, usual }: FetchSettings, wanted: Json | undefined, at: string): PageAccount {
  const names = [ROUTER, NATIVE, ...engines.map(({ name }) => name)]
  const name = wanted === undefined || wanted === null || wanted === 'auto' ? usual : String(wanted)
  const there = accounts.map(pageAccountName).join(', ')
  if (!names.includes(name)) throw badField(at, `expected auto, ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`)
  const found = accounts.find((account) => pageAccountName(account) === name)
  if (found) return found
  if (name === NATIVE)
    throw badField(at, `native is not there: a provider's own tool is requested by its own type; expected auto or one of: ${there}`)
  throw badField(at, `${name} is not configured: the operator has to name it under ${PLACE}.engines.${name}; there is: ${there}`)
}

export function pageAccountName({ engine }: PageAccount): string {
  return engine?.name ?? ROUTER
}

function parseAccounts(given: Json, usualPrice: number, path: string): PageAccount[] {
  if (!isObject(given)) throw badField(path, 'expected an object')
  return Object.entries(given).map(([name, own]) => {
    const at = `${path}.${name}`
    const engine = engines.find((one) => one.name === name)
    if (!engine) throw badField(at, `expected one of: ${engines.map((one) => one.name).join(', ')}`)
    if (!isObject(own)) throw badField(at, 'expected an object')
    const { key, url = engine.url } = own
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) throw badField(`${at}.url`, 'expected an http or https address')
    if (typeof key !== 'string' || key === '') throw badField(`${at}.key`, 'expected the key of your account')
    return { engine, url: url.replace(/\/+$/, ''), key, price: parsePrice(own.price, `${at}.price`) ?? usualPrice }
  })
}

/** @param entries of `allow_private`. @throws Fault 400 naming the entry. */
export function addressPolicy(entries: Json | undefined, path: string): OutboundPolicy {
  if (entries === undefined) return new OutboundPolicy()
  if (!Array.isArray(entries)) throw badField(path, 'expected a list of hosts, addresses and ranges')
  for (const [i, entry] of entries.entries()) {
    try {
      new OutboundPolicy({ allowPrivate: [String(entry)] })
    } catch {
      throw badField(
        `${path}[${i}]`,
        'expected a host such as wiki.corp, *.corp or wiki.corp:8080, an address or a range such as 10.1.0.0/16',
      )
    }
  }
  return new OutboundPolicy({ allowPrivate: entries.map(String) })
}

/** USD as the file has it. */
function parsePrice(price: Json | undefined, path: string): number | undefined {
  if (price === undefined) return undefined
  const nano = typeof price === 'string' ? nanoFromUsd(price) : undefined
  if (nano === undefined) throw badField(path, 'expected USD per page as a decimal in quotes, such as "0.001"')
  return nano
}
