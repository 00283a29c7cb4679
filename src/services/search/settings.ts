/** The operator's settings of web search: which engines there are, what a search costs, which one is asked. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { nanoFromUsd } from '../../core/money.ts'
import { engines } from './engines/index.ts'
import type { EngineAccount } from './types.ts'

/** Where the operator writes them. */
const PLACE = 'plugins.defaults.web'

/** The word for a search that the provider of the model runs itself. */
const NATIVE = 'native'

export interface SearchDesk {
  /** In the order of the file. */
  accounts: readonly EngineAccount[]
  /** The one that `auto` stands for: the operator's choice, else the first. */
  usual: string | undefined
}

/** @param settings the operator's, of the plugin `web`. @param path of these settings. @throws Fault 400 naming the path. */
export function searchDesk(settings: JsonObject, path = PLACE): SearchDesk {
  const given = settings.engines ?? {}
  if (!isObject(given)) throw badField(`${path}.engines`, 'expected an object')
  const usualPrice = priceOf(settings.price, `${path}.price`) ?? 0
  const accounts: EngineAccount[] = []
  for (const [name, own] of Object.entries(given)) {
    const engine = engines.find((one) => one.name === name)
    if (!engine) throw badField(`${path}.engines.${name}`, `expected one of: ${engines.map((one) => one.name).join(', ')}`)
    const at = `${path}.engines.${name}`
    if (!isObject(own)) throw badField(at, 'expected an object')
    const url = own.url ?? engine.url
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) throw badField(`${at}.url`, 'expected an http or https address')
    if (engine.keyed && (typeof own.key !== 'string' || own.key === '')) throw badField(`${at}.key`, 'expected the key of your account')
    const key = typeof own.key === 'string' ? own.key : ''
    accounts.push({ engine, url: url.replace(/\/+$/, ''), key, price: priceOf(own.price, `${at}.price`) ?? usualPrice })
  }
  const { engine: usual } = settings
  return { accounts, usual: typeof usual === 'string' && usual !== 'auto' && usual !== NATIVE ? usual : accounts[0]?.engine.name }
}

/**
 * Who is to search: `native` and no other, `auto` for whoever can, or the name of an engine.
 * @param asked the caller's word; where it is none or `auto`, the operator's counts.
 */
export function wayOf(asked: Json | undefined, settings: JsonObject): string {
  const word = asked === undefined || asked === null || asked === 'auto' ? settings.engine : asked
  return typeof word === 'string' ? word : 'auto'
}

/** True where the operator has configured an engine. */
export function hasEngines({ engines: given }: JsonObject): boolean {
  return isObject(given) && Object.keys(given).length > 0
}

/** @throws Fault 400 for a word that is no engine. */
export function checkEngine(asked: Json | undefined, at: string): void {
  const names = [...engines.map(({ name }) => name), NATIVE]
  if (asked !== undefined && asked !== 'auto' && !names.includes(String(asked)))
    throw badField(at, `expected auto, ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`)
}

/** USD as the file has it. */
function priceOf(price: Json | undefined, path: string): number | undefined {
  if (price === undefined) return undefined
  const nano = typeof price === 'string' ? nanoFromUsd(price) : undefined
  if (nano === undefined) throw badField(path, 'expected USD per search as a decimal in quotes, such as "0.005"')
  return nano
}

/**
 * The account that is to be asked.
 * @param asked the caller's word for the engine, else the operator's.
 * @param at path of that word. @param of path of what needs the engine.
 * @throws Fault 400 that says what the operator has to configure.
 */
export function accountFor(
  { accounts, usual }: SearchDesk,
  asked: Json | undefined,
  { at, of }: { at: string; of: string },
): EngineAccount {
  checkEngine(asked, at)
  if (accounts.length === 0)
    throw badField(of, `needs a search engine: the operator has to configure one under ${PLACE}.engines, such as searxng with its url`)
  const name = asked === undefined || asked === 'auto' ? usual : String(asked)
  const found = accounts.find(({ engine }) => engine.name === name)
  if (found) return found
  const there = accounts.map(({ engine }) => engine.name).join(', ')
  if (name === NATIVE) throw badField(at, `native is not there, expected auto or one of: ${there}`)
  throw badField(at, `${name} is not configured: the operator has to name it under ${PLACE}.engines.${name}; there is: ${there}`)
}
