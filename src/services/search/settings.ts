/** The operator's settings of web search: the engines, what a search costs, which engine is called. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { nanoFromUsd } from '../../core/money-text.ts'
import { engines } from './engines/index.ts'
import type { EngineAccount } from './types.ts'

/** Path at which the operator writes them. */
const PLACE = 'plugins.defaults.web'

/** The value for a search that the provider of the model runs itself. */
const NATIVE = 'native'

export interface SearchDesk {
  /** In the order of the file. */
  accounts: readonly EngineAccount[]
  /** The one that `auto` stands for: the operator's choice, else the first. */
  usual: string | undefined
}

/** @param settings the operator's, of the plugin `web`. @throws Fault 400 naming the path. */
export function searchDesk(settings: JsonObject): SearchDesk {
  const given = settings.engines ?? {}
  if (!isObject(given)) throw badField(`${PLACE}.engines`, 'expected an object')
  const usualPrice = parsePrice(settings.price, `${PLACE}.price`) ?? 0
  const accounts: EngineAccount[] = []
  for (const [name, own] of Object.entries(given)) {
    const engine = engines.find((one) => one.name === name)
    if (!engine) throw badField(`${PLACE}.engines.${name}`, `expected one of: ${engines.map((one) => one.name).join(', ')}`)
    const at = `${PLACE}.engines.${name}`
    if (!isObject(own)) throw badField(at, 'expected an object')
    const url = own.url ?? engine.url
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) throw badField(`${at}.url`, 'expected an http or https address')
    if (engine.keyed && (typeof own.key !== 'string' || own.key === '')) throw badField(`${at}.key`, 'expected the key of your account')
    const key = typeof own.key === 'string' ? own.key : ''
    accounts.push({ engine, url: url.replace(/\/+$/, ''), key, price: parsePrice(own.price, `${at}.price`) ?? usualPrice })
  }
  const { engine: usual } = settings
  return { accounts, usual: typeof usual === 'string' && usual !== 'auto' && usual !== NATIVE ? usual : accounts[0]?.engine.name }
}

/**
 * Searcher: `native` for the provider only, `auto` for the provider or an engine, or the name of an engine.
 * @param wanted the engine that the caller names; absent or `auto`, the operator's setting counts.
 */
export function chooseSearchEngine(wanted: Json | undefined, settings: JsonObject): string {
  const word = wanted === undefined || wanted === null || wanted === 'auto' ? settings.engine : wanted
  return typeof word === 'string' ? word : 'auto'
}

/** True where the operator has configured an engine. */
export function hasEngines({ engines: given }: JsonObject): boolean {
  return isObject(given) && Object.keys(given).length > 0
}

/** @throws Fault 400 where no engine has that name. */
export function checkEngine(wanted: Json | undefined, at: string): void {
  const names = [...engines.map(({ name }) => name), NATIVE]
  if (wanted !== undefined && wanted !== 'auto' && !names.includes(String(wanted)))
    throw badField(at, `expected auto, ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`)
}

/** USD as the file has it. */
function parsePrice(price: Json | undefined, path: string): number | undefined {
  if (price === undefined) return undefined
  const nano = typeof price === 'string' ? nanoFromUsd(price) : undefined
  if (nano === undefined) throw badField(path, 'expected USD per search as a decimal in quotes, such as "0.005"')
  return nano
}

/**
 * The account whose engine is called.
 * @param wanted the engine that the caller names, else the operator's.
 * @param at path of that name. @param of path of what needs the engine.
 * @throws Fault 400 that says what the operator has to configure.
 */
export function accountFor(
  { accounts, usual }: SearchDesk,
  wanted: Json | undefined,
  { at, of }: { at: string; of: string },
): EngineAccount {
  checkEngine(wanted, at)
  if (accounts.length === 0)
    throw badField(of, `needs a search engine: the operator has to configure one under ${PLACE}.engines, such as searxng with its url`)
  const name = wanted === undefined || wanted === 'auto' ? usual : String(wanted)
  const found = accounts.find(({ engine }) => engine.name === name)
  if (found) return found
  const there = accounts.map(({ engine }) => engine.name).join(', ')
  if (name === NATIVE) throw badField(at, `native is not there, expected auto or one of: ${there}`)
  throw badField(at, `${name} is not configured: the operator has to name it under ${PLACE}.engines.${name}; there is: ${there}`)
}
