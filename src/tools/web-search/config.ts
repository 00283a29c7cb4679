/** The caller's `parameters` of the tool, with the account of the engine that is called. */
import {
  accountFor,
  type EngineAccount,
  type JsonObject,
  type SearchParameters,
  searchDesk,
  searchParameters,
} from '../../plugin-api/index.ts'

export interface WebSearchConfig extends SearchParameters {
  account: EngineAccount
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `web`.
 * @throws Fault 400 naming the path; it says what is to be configured where no engine is.
 */
export function parseConfig(parameters: JsonObject, at: string, settings: JsonObject): WebSearchConfig {
  const checked = searchParameters(parameters, `${at}.parameters`)
  const account = accountFor(searchDesk(settings), parameters.engine ?? undefined, { at: `${at}.parameters.engine`, of: `${at}.type` })
  return { ...checked, account }
}
