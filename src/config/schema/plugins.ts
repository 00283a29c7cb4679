/** Plugins: those that ship with the gateway, and the operator's own. */

import type { TProperties } from 'typebox'
import { Type } from 'typebox'
import { moderationFields } from './moderation.ts'
import { asWritten, closed, duration, flag, line, listOf, NAME, NAME_EXPECTED, oneOf, secret, url, usd, withDefault } from './scalars.ts'

/** Ids that this version knows by name only. */
export const LATER_PLUGINS = ['auto-beta-router']

/** What the operator decides for any plugin; no request can. */
const POLICY = {
  locked: withDefault(flag('True: a request may name the plugin and set nothing of it, not even switch it off.'), false),
  on_error: Type.Optional(oneOf('Whether a request ends with the failure of the plugin, or goes on without it.', ['fail', 'skip'])),
  timeout: Type.Optional(duration('How long the plugin may work on a request before it counts as failed.')),
}

export const policy = closed('What the operator decides for any plugin.', POLICY)

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

const bounded = (description: string, minimum: number, maximum: number) => Type.Optional(Type.Integer({ description, minimum, maximum }))

const words = (description: string) => Type.Optional(listOf(description, line('A word.', 4096)))

const sandbox = closed('Where commands of a model run: without network, within limits.', {
  type: oneOf('bubblewrap, or a command of your own.', ['bubblewrap', 'command']),
  program: Type.Optional(line('Of bubblewrap: absolute path of bwrap, where it is not among the usual programs.', 4096)),
  command: words(
    'Of command: its words; the shell command is added as the last. {folder} is the working folder, {name} a name for the run.',
  ),
  stop: words('Of command: run after each command, such as docker, kill, {name}.'),
  folder: Type.Optional(line('Absolute path under which working folders are kept; one for temporary files by default.', 4096)),
  seconds: bounded('Of one command; 60 by default.', 1, 3600),
  memory_mb: bounded('Of one process; 2048 by default.', 16, 1_048_576),
  processes: bounded('Of one command; 64 by default.', 4, 65_536),
  output_kb: bounded('Shown of each stream of a command; 64 by default.', 1, 4096),
  disk_mb: bounded('Of one container; 256 by default.', 1, 1_048_576),
  at_once: bounded('Commands that run at the same time, over all callers; 4 by default.', 1, 1024),
  containers: bounded('Of one key; 16 by default.', 1, 10_000),
})

const panel = {
  analysis_models: Type.Optional(listOf('Slugs of the members, 1 to 8.', line('A slug.', 256))),
  model: Type.Optional(line('Slug of the model that compares the answers; it leads router/fusion, too.', 256)),
}

const shipped = {
  moderation: settings('Has requests judged by category before anything else is done with them; a request that is flagged is a 403.', {
    enabled: Type.Optional(flag('True: every request is judged.')),
    ...moderationFields,
    url: Type.Optional(url('Address of the endpoint or model, whole or up to /v1; of openai that of OpenAI by default.')),
    key: Type.Optional(secret('Key of the account.')),
    price: Type.Optional(usd('USD that a judged request costs the caller; 0 by default.')),
  }),
  web: settings('Searches the web before the model answers; its engines and prices are those of the tool web_search, too.', {
    enabled: Type.Optional(flag('True: on for every request.')),
    engine: Type.Optional(
      oneOf(
        'Where a request names none; auto by default: the provider of the model where it searches itself, else the first under engines.',
        ['auto', 'native', ...Object.keys(searchEngines)],
      ),
    ),
    engines: Type.Optional(closed('Accounts of search engines.', searchEngines)),
    price: Type.Optional(usd('USD that a search costs the caller, where its engine has no price of its own; 0 by default.')),
    max_results: Type.Optional(Type.Integer({ description: 'Results of a search at most; 5 by default.', minimum: 1, maximum: 25 })),
    search_prompt: Type.Optional(line('What the results are led in with.', 10_000)),
    include_domains: Type.Optional(domains('Only pages of these.')),
    exclude_domains: Type.Optional(domains('No pages of these.')),
  }),
  'web-fetch': settings('Offers the tool web_fetch; its engines, prices and limits are those of the tool wherever it is used.', {
    enabled: Type.Optional(flag('True: offered with every request.')),
    engine: Type.Optional(
      oneOf('Who fetches where a request names nobody; router, the gateway itself, by default.', [
        'auto',
        'router',
        ...Object.keys(pageEngines),
      ]),
    ),
    engines: Type.Optional(closed('Accounts of services that fetch pages.', pageEngines)),
    price: Type.Optional(usd('USD that a page costs the caller, where its engine has no price of its own; 0 by default.')),
    allow_private: Type.Optional(
      listOf(
        'Hosts, addresses and ranges of your own network that may be fetched.',
        line('Such as wiki.corp, wiki.corp:8080, *.corp or 10.1.0.0/16.', 256),
      ),
    ),
    robots: Type.Optional(flag("False: a site's robots.txt is not asked.")),
    max_bytes: Type.Optional(
      Type.Integer({ description: 'Bytes of a page at most; 10485760 by default.', minimum: 1, maximum: 10_485_760 }),
    ),
    max_uses: Type.Optional(Type.Integer({ description: 'Pages of a request at most; 50 by default.', minimum: 1, maximum: 50 })),
    max_content_tokens: Type.Optional(
      Type.Integer({ description: 'Approximate tokens of a page at most; 25000 by default.', minimum: 1, maximum: 1_000_000 }),
    ),
    allowed_domains: Type.Optional(domains('Only pages of these, whatever a request says.')),
    blocked_domains: Type.Optional(domains('No pages of these, whatever a request says.')),
  }),
  shell: settings('The sandbox that the tools shell and bash run commands in; without one they run none.', {
    enabled: Type.Optional(flag('For the form that all plugins have in common.')),
    sandbox: Type.Optional(sandbox),
  }),
  'file-parser': settings('Turns files of a request into words where the model takes no files.', {
    enabled: Type.Optional(flag('False: off; by default it acts where the first model takes no files.')),
    pdf: Type.Optional(
      closed('How PDFs are read.', {
        engine: Type.Optional(
          oneOf(
            'Without it: as they are where the model takes files, else by the service for scans if there is one, else by the text that they hold.',
            ['native', 'mistral-ocr', 'pdf-text', 'cloudflare-ai'],
          ),
        ),
      }),
    ),
    ocr: Type.Optional(
      closed('A service that reads scans and speaks the OCR API of Mistral.', {
        url: Type.Optional(url('Address in front of /v1/ocr; that of Mistral by default.')),
        key: Type.Optional(secret('Key of the account.')),
        model: Type.Optional(line('Model; mistral-ocr-latest by default.')),
        price: Type.Optional(usd('USD that a thousand pages cost the caller; "2.00" by default.')),
        max_pages: Type.Optional(
          Type.Integer({ description: 'Pages of one file at most; 200 by default. So much is held for each.', minimum: 1, maximum: 1000 }),
        ),
      }),
    ),
    allow_private: Type.Optional(
      listOf(
        'Hosts, addresses and ranges of your own network that may be fetched.',
        line('Such as wiki.corp, wiki.corp:8080, *.corp or 10.1.0.0/16.', 256),
      ),
    ),
  }),
  mcp: settings('Remote MCP servers that callers name, for the tool mcp.', {
    enabled: Type.Optional(flag('False: no request may name a server.')),
    allow_private: Type.Optional(
      listOf('Exceptions to the public internet: hosts, addresses or ranges.', line('Such as mcp.corp:8080 or 10.1.0.0/16.', 256)),
    ),
    servers: Type.Optional(domains('Only servers of these; any public one by default.')),
    seconds: bounded('Of one question to a server; 30 by default.', 1, 600),
    max_kb: bounded('Of all answers of a server to one request; 8192 by default.', 1, 1_048_576),
    max_characters: bounded('Of one answer that the model is shown; 100,000 by default.', 1, 10_000_000),
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
  fusion: settings('Puts questions to a panel of models; its settings are those of the tool fusion, too.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    ...panel,
    preset: Type.Optional(line('Name of the panel where a request names none; general-high by default.', 256)),
    max_tool_calls: bounded('Tool steps of each member; 8 by default.', 1, 16),
    tools: Type.Optional(
      listOf(
        'Server tools of each member; web_search and web_fetch by default, as far as they are configured.',
        Type.Object(
          { type: line('Such as router:web_search.', 256), parameters: Type.Optional(Type.Object({}, { description: 'Of the tool.' })) },
          { description: 'A server tool.' },
        ),
      ),
    ),
    presets: Type.Optional(
      Type.Object(
        {},
        {
          description: 'Panels by name; general-high, general-budget and general-fast are there without you.',
          additionalProperties: false,
          patternProperties: { [NAME]: closed('A panel.', panel) },
          keyExpected: NAME_EXPECTED,
        },
      ),
    ),
  }),
  'image-generation': settings('Offers the tool image_generation.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    model: Type.Optional(line('Slug of the image model where a request names none; the first that makes images by default.', 256)),
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
  load: withDefault(
    listOf(
      "The operator's own plugins: files, relative to this one, or npm packages.",
      line('Such as ./plugins/mine.ts, or a package.', 1024),
    ),
    [],
  ),
  order: withDefault(
    listOf('Plugins in the order in which they run.', Type.String({ description: 'A plugin.', pattern: NAME, expected: NAME_EXPECTED })),
    [],
  ),
  // A plugin reads its own settings, and those of a request have the same form.
  defaults: withDefault(
    asWritten(
      Type.Object(shipped, {
        description: "The operator's settings; a request's own fields come on top.",
        additionalProperties: false,
        patternProperties: { [NAME]: own },
        keyExpected: NAME_EXPECTED,
      }),
    ),
    {},
  ),
})
