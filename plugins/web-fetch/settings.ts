/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, domains, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, closed, flag, line, listField, secret, url, usd, withDefault } from '../../src/config/fields/scalars.ts'

const pagePrice = Type.Optional(usd('USD that a page costs the caller.'))

const pageEngine = (description: string) =>
  Type.Optional(
    closed(description, {
      key: secret('Key of the account.'),
      url: Type.Optional(url('Address of the API, where it is not the usual one.')),
      price: pagePrice,
    }),
  )

/** Named once each here and in `src/services/pages/engines/index.ts`. */
const pageEngines = { exa: pageEngine('Exa.'), firecrawl: pageEngine('Firecrawl.'), parallel: pageEngine('Parallel.') }

export const webFetch: ShippedPlugin = {
  settings: pluginSettings('Offers the tool web_fetch; its engines, prices and limits apply to every use of the tool.', {
    enabled: Type.Optional(flag('True: offered with every request.')),
    engine: withDefault(
      choiceField('Engine for requests that name none: `router` (the gateway itself), or one of `engines`.', [
        'auto',
        'router',
        ...Object.keys(pageEngines),
      ]),
      'router',
    ),
    engines: Type.Optional(closed('Accounts of services that fetch pages.', pageEngines)),
    price: withDefault(usd('USD that a page costs the caller, where its engine has no price of its own.'), '0'),
    allow_private: Type.Optional(
      listField(
        'Hosts, addresses and ranges of your own network that may be fetched.',
        line('Such as wiki.corp, wiki.corp:8080, *.corp or 10.1.0.0/16.', 256),
      ),
    ),
    robots: withDefault(flag("False: a site's robots.txt is not read."), true),
    max_bytes: bounded('Bytes of a page at most, as sent and as unpacked.', [1, 10_485_760], 10_485_760),
    max_uses: bounded('Pages of a request at most.', [1, 50], 50),
    max_content_tokens: bounded('Approximate tokens of a page at most. Where you set it, no request gets more.', [1, 1_000_000], 25_000),
    allowed_domains: Type.Optional(domains('Only pages of these, whatever a request says.')),
    blocked_domains: Type.Optional(domains('No pages of these, whatever a request says.')),
  }),
  acts: 'on request',
  does: 'Offers the tool [`web_fetch`](web-fetch.md).',
  limits: 'Those of the tool.',
}
