/** Plugins: those that ship with the gateway, and the operator's own. */

import type { TProperties } from 'typebox'
import { Type } from 'typebox'
import { closed, duration, flag, line, listOf, NAME, NAME_EXPECTED, oneOf, secret, url, usd } from './scalars.ts'

/** Ids that this version knows by name only. */
export const LATER_PLUGINS = ['moderation', 'file-parser', 'web-fetch', 'fusion', 'auto-beta-router']

/** What the operator decides for any plugin; no request can. */
const POLICY = {
  locked: Type.Optional(flag('True: a request may name the plugin and set nothing of it, not even switch it off.')),
  on_error: Type.Optional(oneOf('Whether a request ends with the failure of the plugin, or goes on without it.', ['fail', 'skip'])),
  timeout: Type.Optional(duration('How long the plugin may work on a request before it counts as failed.')),
}

const settings = <P extends TProperties>(description: string, own: P) => Type.Optional(closed(description, { ...own, ...POLICY }))

const modelPatterns = (description: string) => listOf(description, line('A slug, or a pattern such as openai/*.', 1024))

const domains = (description: string) => listOf(description, line('Such as example.com, *.example.com or example.com/blog.', 256))

const searchPrice = Type.Optional(usd('USD that a search costs the caller.'))

const keyedEngine = (description: string) =>
  Type.Optional(
    closed(description, {
      key: secret('Key of the account.'),
      url: Type.Optional(url('Address of the API, where it is not the usual one.')),
      price: searchPrice,
    }),
  )

/** Named once each here and in `src/search/engines/index.ts`. */
const searchEngines = {
  searxng: Type.Optional(
    closed('An instance of SearXNG whose settings allow the format json.', { url: url('Address of the instance.'), price: searchPrice }),
  ),
  brave: keyedEngine('Brave Search.'),
  exa: keyedEngine('Exa.'),
  tavily: keyedEngine('Tavily.'),
}

const shipped = {
  web: settings('Searches the web before the model answers; its engines and prices are those of the tool web_search, too.', {
    enabled: Type.Optional(flag('True: on for every request.')),
    engine: Type.Optional(
      oneOf('Where a request names none; the first under engines by default.', ['auto', ...Object.keys(searchEngines)]),
    ),
    engines: Type.Optional(closed('Accounts of search engines.', searchEngines)),
    price: Type.Optional(usd('USD that a search costs the caller, where its engine has no price of its own; 0 by default.')),
    max_results: Type.Optional(Type.Integer({ description: 'Results of a search at most; 5 by default.', minimum: 1, maximum: 25 })),
    search_prompt: Type.Optional(line('What the results are led in with.', 10_000)),
    include_domains: Type.Optional(domains('Only pages of these.')),
    exclude_domains: Type.Optional(domains('No pages of these.')),
  }),
  'context-compression': settings('Cuts out the middle of what does not fit.', {
    enabled: Type.Optional(flag('True: on for every model; by default only for those with a context of at most 8192.')),
    engine: Type.Optional(oneOf('How it is cut.', ['middle-out'])),
  }),
  'response-healing': settings('Mends answers that were to be JSON and are not.', {
    enabled: Type.Optional(flag('True: on for every request that asks for JSON.')),
  }),
  'auto-router': settings('Chooses a model by the kind of the task.', {
    enabled: Type.Optional(flag('False: the prompt is not looked at.')),
    allowed_models: Type.Optional(modelPatterns('Only these models; * stands for any text. All by default.')),
    excluded_models: Type.Optional(modelPatterns('Never these models, whatever is allowed.')),
    cost_quality_tradeoff: Type.Optional(
      Type.Integer({ description: '0 for quality whatever it costs, 10 for the cheapest; 7 by default.', minimum: 0, maximum: 10 }),
    ),
    cost_tier: Type.Optional(oneOf('A band of prices; it rules over the trade-off.', ['low', 'medium', 'high', 'xhigh', 'max'])),
    pin_model: Type.Optional(flag('True: a conversation keeps the model that its last answer names.')),
  }),
  'pareto-router': settings('Chooses the cheapest model that codes well enough.', {
    enabled: Type.Optional(flag('For the form that all plugins have in common.')),
    min_coding_score: Type.Optional(
      Type.Number({ description: 'Tier of coding scores: high from 0.66, medium from 0.33, else low.', minimum: 0, maximum: 1 }),
    ),
    max_price: Type.Optional(Type.Number({ description: 'USD per million tokens; with it the tiers are left alone.', minimum: 0 })),
    price_source: Type.Optional(oneOf('Which price it bounds; prompt by default.', ['prompt', 'weighted_avg'])),
  }),
  'free-router': settings('Chooses among the models that cost nothing.', {
    enabled: Type.Optional(flag('For the form that all plugins have in common.')),
  }),
}

/** Ids of the plugins that ship with this version. */
export const PLUGINS: readonly string[] = Object.keys(shipped)

/** Settings of the operator's own plugins are theirs to check. */
const own = Type.Object(
  { enabled: Type.Optional(flag('True: on for every request.')), ...POLICY },
  {
    description: "Settings of one of the operator's own plugins.",
    additionalProperties: false,
    patternProperties: { '^[A-Za-z][A-Za-z0-9_-]*$': {} },
    keyExpected: 'a name of letters, digits, dashes and underscores that begins with a letter',
  },
)

export const plugins = closed('Plugins that act on requests.', {
  load: Type.Optional(
    listOf(
      "The operator's own plugins: files, relative to this one, or npm packages.",
      line('Such as ./plugins/mine.ts, or a package.', 1024),
    ),
  ),
  order: Type.Optional(
    listOf('Plugins in the order in which they run.', Type.String({ description: 'A plugin.', pattern: NAME, expected: NAME_EXPECTED })),
  ),
  defaults: Type.Optional(
    Type.Object(shipped, {
      description: "The operator's settings; a request's own fields come on top.",
      additionalProperties: false,
      patternProperties: { [NAME]: own },
      keyExpected: NAME_EXPECTED,
    }),
  ),
})
