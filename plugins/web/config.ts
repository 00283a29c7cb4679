/** Settings of the plugin: the operator's, and the fields of a request's entry (contract section 6). */
import {
  accountFor,
  badField,
  Citations,
  domainsOf,
  type EngineAccount,
  type JsonObject,
  locationOf,
  MOST_RESULTS,
  modeOf,
  type SearchScope,
  searchDesk,
  USUAL_CHARACTERS,
  USUAL_RESULTS,
  wholeNumber,
} from '../../src/plugin-api/index.ts'

const OPERATORS = 'plugins.defaults.web'

export interface WebConfig {
  /** Undefined where it is not to search. */
  account: EngineAccount | undefined
  scope: SearchScope
  /** What the results are led in with; undefined: our own words. */
  prompt: string | undefined
  /** Of this request. */
  citations: Citations
}

/** @throws Fault 400 naming the path; it says what is to be configured where no engine is. */
export function parseConfig(settings: JsonObject, path: string): WebConfig {
  const { enabled = true, search_prompt: prompt } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt === '')) throw badField(`${path}.search_prompt`, 'expected a text')
  // Providers that search themselves would keep to it; the plugin searches once.
  wholeNumber(settings.max_uses, `${path}.max_uses`, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const scope: SearchScope = {
    count: wholeNumber(settings.max_results, `${path}.max_results`, { min: 1, max: MOST_RESULTS }) ?? USUAL_RESULTS,
    characters: USUAL_CHARACTERS,
    allowed: domainsOf(settings.include_domains, `${path}.include_domains`),
    excluded: domainsOf(settings.exclude_domains, `${path}.exclude_domains`),
    location: locationOf(settings.user_location, `${path}.user_location`, true),
    mode: modeOf(settings.mode, `${path}.mode`),
  }
  const account = enabled ? accountOf(settings, path) : undefined
  if (account && scope.allowed.length > 0 && scope.excluded.length > 0 && !account.engine.bothLists)
    throw badField(`${path}.exclude_domains`, `${account.engine.name} takes one list, expected either include_domains or exclude_domains`)
  return { account, scope, prompt, citations: new Citations() }
}

function accountOf(settings: JsonObject, path: string): EngineAccount {
  const of = path === OPERATORS ? `${path}.engines` : `${path}.id`
  return accountFor(searchDesk(settings), settings.engine, { at: `${path}.engine`, of })
}
