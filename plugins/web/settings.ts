/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, domains, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, closed, flag, line, secret, url, usd, withDefault } from '../../src/config/fields/scalars.ts'

const searchPrice = Type.Optional(usd('USD that a search costs the caller.'))

const keyedEngine = (description: string) =>
  Type.Optional(
    closed(description, {
      key: secret('Key of the account.'),
      url: Type.Optional(url('Address of the API, where it is not the usual one.')),
      price: searchPrice,
    }),
  )

/** Named once each here and in `src/services/search/engines/index.ts`. */
const searchEngines = {
  searxng: Type.Optional(
    closed('An instance of SearXNG whose settings allow the format json.', { url: url('Address of the instance.'), price: searchPrice }),
  ),
  brave: keyedEngine('Brave Search.'),
  exa: keyedEngine('Exa.'),
  tavily: keyedEngine('Tavily.'),
  firecrawl: keyedEngine('Firecrawl.'),
  parallel: keyedEngine('Parallel.'),
  perplexity: keyedEngine('Perplexity.'),
}

export const web: ShippedPlugin = {
  settings: pluginSettings('Searches the web before the model answers; its engines and prices also apply to the tool web_search.', {
    enabled: Type.Optional(flag('True: on for every request.')),
    engine: withDefault(
      choiceField(
        'Engine for requests that name none. `native`: only the provider of the model. `auto`: the provider if it can search, else the first entry of `engines`.',
        ['auto', 'native', ...Object.keys(searchEngines)],
      ),
      'auto',
    ),
    engines: Type.Optional(closed('Accounts of search engines.', searchEngines)),
    price: withDefault(usd('USD that a search costs the caller, where its engine has no price of its own.'), '0'),
    max_results: bounded('Results of a search at most.', [1, 25], 5),
    search_prompt: Type.Optional(line('Text that introduces the results.', 10_000)),
    include_domains: Type.Optional(domains('Only pages of these.')),
    exclude_domains: Type.Optional(domains('No pages of these.')),
  }),
  acts: 'on request; by the suffix `:online`',
  does: '[Searches](web-search.md#the-plugin) once before the model answers.',
  limits: '1 to 25 results, 5 by default; 15 s. Needs an engine, or a provider that searches.',
}
