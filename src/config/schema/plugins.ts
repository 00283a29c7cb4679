/** Plugins: those that ship with the gateway, and the operator's own. */

import type { TProperties } from 'typebox'
import { Type } from 'typebox'
import { moderationFields } from './moderation.ts'
import { asWritten, closed, duration, flag, line, listOf, NAME, NAME_EXPECTED, oneOf, secret, url, usd, withDefault } from './scalars.ts'

/** Ids that this version knows by name only. */
export const LATER_PLUGINS = ['auto-beta-router']

/** What the operator decides for any plugin; no request can. */
const POLICY = {
  locked: withDefault(flag('True: a request may name the plugin but not change its settings or switch it off.'), false),
  on_error: Type.Optional(
    oneOf(
      'If the plugin fails: `fail` ends the request, `skip` goes on without the plugin. If unset: what the plugin declares, else `fail`.',
      ['fail', 'skip'],
    ),
  ),
  timeout: Type.Optional(
    duration('How long the plugin may work on a request before it counts as failed. If unset: what the plugin declares, else 30s.'),
  ),
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

const bounded = (description: string, [minimum, maximum]: readonly [number, number], value: number) =>
  withDefault(Type.Integer({ description, minimum, maximum }), value)

const words = (description: string) => Type.Optional(listOf(description, line('A word.', 4096)))

const sandbox = closed('Where commands of a model run: without network, within limits.', {
  type: oneOf('`bubblewrap`, or a `command` of your own.', ['bubblewrap', 'command']),
  program: Type.Optional(line('For `bubblewrap`: absolute path of bwrap, if it is not in the usual places.', 4096)),
  command: words(
    'For `command`: its words; the shell command is added as the last word. {folder} is the working folder, {name} a name for the run.',
  ),
  stop: words('For `command`: run after each command, such as docker, kill, {name}.'),
  folder: Type.Optional(line('Absolute path under which working folders are kept. If unset: that of temporary files.', 4096)),
  seconds: bounded('Seconds of one command.', [1, 3600], 60),
  memory_mb: bounded('Megabytes of one process.', [16, 1_048_576], 2048),
  processes: bounded('Processes of one command.', [4, 65_536], 64),
  output_kb: bounded('Kilobytes shown of each stream of a command.', [1, 4096], 64),
  disk_mb: bounded('Megabytes of one container.', [1, 1_048_576], 256),
  at_once: bounded('Commands that run at the same time, over all callers.', [1, 1024], 4),
  containers: bounded('Containers of one key.', [1, 10_000], 16),
})

const panel = {
  analysis_models: Type.Optional(listOf('Slugs of the members, 1 to 8.', line('A slug.', 256))),
  model: Type.Optional(line('Slug of the model that compares the answers; it also leads router/fusion.', 256)),
}

const shipped = {
  moderation: settings('Checks requests by category before anything else is done with them; a flagged request gets 403.', {
    enabled: Type.Optional(flag('True: every request is checked.')),
    ...moderationFields,
    url: Type.Optional(
      url('Address of the endpoint or model, in full or up to /v1. If unset: the address of OpenAI, with the engine `openai`.'),
    ),
    key: Type.Optional(secret('Key of the account.')),
    price: withDefault(usd('USD that a checked request costs the caller.'), '0'),
  }),
  web: settings('Searches the web before the model answers; its engines and prices also apply to the tool web_search.', {
    enabled: Type.Optional(flag('True: on for every request.')),
    engine: withDefault(
      oneOf(
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
  'web-fetch': settings('Offers the tool web_fetch; its engines, prices and limits apply to every use of the tool.', {
    enabled: Type.Optional(flag('True: offered with every request.')),
    engine: withDefault(
      oneOf('Engine for requests that name none: `router` (the gateway itself), or one of `engines`.', [
        'auto',
        'router',
        ...Object.keys(pageEngines),
      ]),
      'router',
    ),
    engines: Type.Optional(closed('Accounts of services that fetch pages.', pageEngines)),
    price: withDefault(usd('USD that a page costs the caller, where its engine has no price of its own.'), '0'),
    allow_private: Type.Optional(
      listOf(
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
  shell: settings('The sandbox that the tools shell and bash run commands in; without one they run none.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
    sandbox: Type.Optional(sandbox),
  }),
  'file-parser': settings('Converts files of a request to text if the model does not accept files.', {
    enabled: Type.Optional(flag('False: off. If unset: acts if the first model does not accept files.')),
    pdf: Type.Optional(
      closed('How PDFs are read.', {
        engine: Type.Optional(
          oneOf('If unset: `native` if the model accepts files, else the service in `ocr` if there is one, else the text in the file.', [
            'native',
            'mistral-ocr',
            'pdf-text',
            'cloudflare-ai',
          ]),
        ),
      }),
    ),
    ocr: Type.Optional(
      closed('A service that reads scans and speaks the OCR API of Mistral.', {
        url: withDefault(url('Address in front of /v1/ocr.'), 'https://api.mistral.ai'),
        key: Type.Optional(secret('Key of the account.')),
        model: withDefault(line('Model.'), 'mistral-ocr-latest'),
        price: withDefault(usd('USD that a thousand pages cost the caller.'), '2.00'),
        max_pages: bounded('Most pages of one file. The hold covers this many pages for each file.', [1, 1000], 200),
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
    servers: Type.Optional(domains('Only servers of these. If unset: any public one.')),
    seconds: bounded('Seconds of one call to a server.', [1, 600], 30),
    max_kb: bounded('Kilobytes of all answers of a server to one request.', [1, 1_048_576], 8192),
    max_characters: bounded('Characters of one answer that the model is shown.', [1, 10_000_000], 100_000),
  }),
  'context-compression': settings('Removes the middle of a conversation that does not fit the context.', {
    enabled: Type.Optional(flag('True: on for every model. If unset: on for models with a context of at most 8192 tokens.')),
    engine: withDefault(oneOf('How it is cut.', ['middle-out']), 'middle-out'),
  }),
  'response-healing': settings('Repairs replies that should be JSON and are not.', {
    enabled: Type.Optional(flag('True: on for every request that asks for JSON.')),
  }),
  'auto-router': settings('Chooses a model by the kind of the task.', {
    enabled: Type.Optional(flag('False: the prompt is not read; every task counts as `general`.')),
    allowed_models: Type.Optional(modelPatterns('Only these models; `*` stands for any text. If unset: all.')),
    excluded_models: Type.Optional(modelPatterns('Never these models, whatever is allowed.')),
    cost_quality_tradeoff: bounded('0: best quality at any cost. 10: cheapest.', [0, 10], 7),
    cost_tier: Type.Optional(
      oneOf('A price band; takes precedence over `cost_quality_tradeoff`.', ['low', 'medium', 'high', 'xhigh', 'max']),
    ),
    pin_model: withDefault(flag('True: a conversation keeps the model that its last reply names.'), false),
  }),
  'pareto-router': settings('Chooses the cheapest model that codes well enough.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
    min_coding_score: withDefault(
      Type.Number({ description: 'Tier of coding scores: high from 0.66, medium from 0.33, else low.', minimum: 0, maximum: 1 }),
      0.66,
    ),
    max_price: Type.Optional(Type.Number({ description: 'USD per million tokens; replaces the choice by tier.', minimum: 0 })),
    price_source: withDefault(oneOf('The price that `max_price` limits.', ['prompt', 'weighted_avg']), 'prompt'),
  }),
  fusion: settings('Asks a panel of models; its settings also apply to the tool fusion.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    ...panel,
    preset: withDefault(line('Name of the panel where a request names none.', 256), 'general-high'),
    max_tool_calls: bounded('Tool steps of each member.', [1, 16], 8),
    tools: Type.Optional(
      listOf(
        'Server tools of each member. If unset: web_search and web_fetch, as far as they are configured.',
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
          description: 'Panels by name; general-high, general-budget and general-fast are built in.',
          additionalProperties: false,
          patternProperties: { [NAME]: closed('A panel.', panel) },
          keyExpected: NAME_EXPECTED,
        },
      ),
    ),
  }),
  'image-generation': settings('Offers the tool image_generation.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    model: Type.Optional(line('Slug of the image model for requests that name none. If unset: the first model that makes images.', 256)),
  }),
  'free-router': settings('Chooses among the models that cost nothing.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
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
        description: "The operator's settings; fields of a request take precedence.",
        additionalProperties: false,
        patternProperties: { [NAME]: own },
        keyExpected: NAME_EXPECTED,
      }),
    ),
    {},
  ),
})
