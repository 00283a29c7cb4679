/** The caller's `parameters` of the tool (contract section 1.4). */
import {
  accountFor,
  badField,
  charactersOf,
  domainsOf,
  type EngineAccount,
  type JsonObject,
  locationOf,
  MOST_RESULTS,
  modeOf,
  type SearchScope,
  searchDesk,
  USUAL_RESULTS,
  wholeNumber,
} from '../../plugin-api/index.ts'

/** Searches of one request at most: more calls than that no loop makes. */
const MOST_USES = 30
const USUAL_TOTAL = 50

export interface WebSearchConfig {
  account: EngineAccount
  scope: SearchScope
  maxUses: number
  maxTotal: number
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `web`.
 * @throws Fault 400 naming the path; it says what is to be configured where no engine is.
 */
export function parseConfig(parameters: JsonObject, at: string, settings: JsonObject): WebSearchConfig {
  const path = `${at}.parameters`
  const allowed = domainsOf(parameters.allowed_domains, `${path}.allowed_domains`)
  const excluded = domainsOf(parameters.excluded_domains, `${path}.excluded_domains`)
  if (allowed.length > 0 && excluded.length > 0)
    throw badField(`${path}.excluded_domains`, 'expected either allowed_domains or excluded_domains')
  const most = { min: 1, max: Number.MAX_SAFE_INTEGER }
  const uses = wholeNumber(parameters.max_uses, `${path}.max_uses`, most) ?? MOST_USES
  return {
    scope: {
      count: wholeNumber(parameters.max_results, `${path}.max_results`, { min: 1, max: MOST_RESULTS }) ?? USUAL_RESULTS,
      characters: charactersOf(parameters, path),
      allowed,
      excluded,
      location: locationOf(parameters.user_location, `${path}.user_location`, false),
      mode: modeOf(parameters.mode, `${path}.mode`),
    },
    maxUses: Math.min(uses, MOST_USES),
    maxTotal: wholeNumber(parameters.max_total_results, `${path}.max_total_results`, most) ?? USUAL_TOTAL,
    account: accountFor(searchDesk(settings), parameters.engine ?? undefined, { at: `${path}.engine`, of: `${at}.type` }),
  }
}
