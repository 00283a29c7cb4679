/** Settings of the plugin: the operator's, and the fields of a request's entry (docs/contract.md#plugins). */
import {
  accountFor,
  badField,
  Citations,
  checkEngine,
  chooseSearchEngine,
  type EngineAccount,
  hasEngines,
  type JsonObject,
  MAX_RESULTS,
  type NativeSearch,
  nativeSearch,
  parseDomains,
  parseLocation,
  parseMode,
  type SearchScope,
  searchDesk,
  USUAL_CHARACTERS,
  USUAL_RESULTS,
  wholeNumber,
} from '../../src/plugin-api/index.ts'

const OPERATORS = 'plugins.defaults.web'

export interface WebConfig {
  /** False where it is not to search. */
  enabled: boolean
  /** `native`: the provider of the model and no other; `auto`: the provider where it can; `engine`: the account. */
  way: 'native' | 'auto' | 'engine'
  /** Undefined where the provider searches, or no engine is configured. */
  account: EngineAccount | undefined
  scope: SearchScope
  /** The same for a provider that searches itself. */
  native: NativeSearch
  /** Words before the results; undefined: our own. */
  prompt: string | undefined
  /** Of this request. */
  citations: Citations
  /** Says what is missing where neither a provider nor an engine can search for these models. @throws Fault 400. */
  refuse(models: string): never
}

/** @throws Fault 400 naming the path; it says what is to be configured where no engine is. */
export function parseConfig(settings: JsonObject, path: string): WebConfig {
  const { enabled = true, search_prompt: prompt } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt === '')) throw badField(`${path}.search_prompt`, 'expected a text')
  // The plugin itself searches once.
  const uses = wholeNumber(settings.max_uses, `${path}.max_uses`, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const scope: SearchScope = {
    count: wholeNumber(settings.max_results, `${path}.max_results`, { min: 1, max: MAX_RESULTS }) ?? USUAL_RESULTS,
    characters: USUAL_CHARACTERS,
    allowed: parseDomains(settings.include_domains, `${path}.include_domains`),
    excluded: parseDomains(settings.exclude_domains, `${path}.exclude_domains`),
    location: parseLocation(settings.user_location, `${path}.user_location`, true),
    mode: parseMode(settings.mode, `${path}.mode`),
  }
  const way = enabled ? wayIn(settings, path) : 'auto'
  const needed = path === OPERATORS && (way === 'engine' || settings.enabled === true)
  const account = enabled && way !== 'native' && (hasEngines(settings) || needed) ? parseAccount(settings, path) : undefined
  if (account && scope.allowed.length > 0 && scope.excluded.length > 0 && !account.engine.bothLists)
    throw badField(`${path}.exclude_domains`, `${account.engine.name} takes one list, expected either include_domains or exclude_domains`)
  const refuse = (models: string): never => {
    if (way === 'native')
      throw badField(`${path}.engine`, `native: no provider of ${models} has a web search of its own that can keep to this`)
    parseAccount(settings, path)
    throw new TypeError('there is an engine')
  }
  return { enabled, way, account, scope, native: nativeSearch(scope, { maxUses: uses }), prompt, citations: new Citations(), refuse }
}

/** The settings are the operator's with the request's on top, so that there is one word for the engine. */
function wayIn(settings: JsonObject, path: string): WebConfig['way'] {
  checkEngine(settings.engine, `${path}.engine`)
  const way = chooseSearchEngine(undefined, settings)
  return way === 'native' || way === 'auto' ? way : 'engine'
}

function parseAccount(settings: JsonObject, path: string): EngineAccount {
  const of = path === OPERATORS ? `${path}.engines` : `${path}.id`
  return accountFor(searchDesk(settings), settings.engine, { at: `${path}.engine`, of })
}
