/** The caller's `parameters` of the tool, within the operator's settings. */
import {
  domainRules,
  type FetchDesk,
  type FetchLimits,
  fetchDesk,
  type JsonObject,
  limitsOf,
  type PageAccount,
  pageAccount,
} from '../../plugin-api/index.ts'

export interface WebFetchConfig {
  desk: FetchDesk
  account: PageAccount
  maxUses: number
  maxTokens: number
  /** The lists of the caller and of the operator, both. */
  allows: (url: URL) => boolean
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `web-fetch`.
 * @throws Fault 400 naming the path.
 */
export function parseConfig(parameters: JsonObject, at: string, settings: JsonObject): WebFetchConfig {
  const path = `${at}.parameters`
  const desk = fetchDesk(settings)
  const own = limitsOf(parameters, path)
  const account = pageAccount(desk, parameters.engine, `${path}.engine`)
  const byCaller = rulesOf(own)
  const byOperator = rulesOf(desk.limits)
  return {
    desk,
    account,
    maxUses: Math.min(own.maxUses, desk.limits.maxUses),
    // A caller may set more than the default, where the operator has set no limit.
    maxTokens: settings.max_content_tokens === undefined ? own.maxTokens : Math.min(own.maxTokens, desk.limits.maxTokens),
    allows: (url) => byCaller(url) && byOperator(url),
  }
}

function rulesOf({ allowed, blocked }: FetchLimits): (url: URL) => boolean {
  return domainRules({ allowed, blocked })
}
