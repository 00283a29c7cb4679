/** Commands on models, providers, agents and plugins. */
import { CONFIG_OPTION, type Command, command, GATEWAY_OPTIONS, JSON_OPTION } from './command.ts'

const AGENT_OPTIONS = {
  '--model <SLUG>': 'in place of those of `agents` in the configuration, or of the default model',
  '--url <ADDRESS>': 'of the gateway, in place of the one of the configuration',
  ...CONFIG_OPTION,
} as const

export const modelCommands: readonly Command[] = [
  {
    usage: 'models',
    summary: 'Show models with their endpoints and prices; compare and import lists',
    example: 'models list --json',
    page: 'docs/catalogue.md',
    usual: 'list',
  },
  command({
    usage: 'models list',
    summary: 'Show the models of a configuration',
    example: 'models list --provider sim --config headgate.yaml',
    page: 'docs/catalogue.md',
    options: {
      '--provider <NAME>': 'those with an endpoint there',
      '--kind <KIND>': 'generate, embedding, rerank or image',
      ...JSON_OPTION,
      ...CONFIG_OPTION,
    },
    run: async (_, flags) => (await import('../models.ts')).models(['list'], flags),
  }),
  command({
    usage: 'models show <SLUG>',
    summary: 'Show one model with its endpoints and prices',
    example: 'models show sim/echo --config headgate.yaml',
    page: 'docs/catalogue.md',
    options: { ...JSON_OPTION, ...CONFIG_OPTION },
    run: async (words, flags) => (await import('../models.ts')).models(['show', ...words], flags),
  }),
  command({
    usage: 'models sync <PROVIDER>',
    summary: "Fetch a provider's own list: what is new, gone, or of another length",
    example: 'models sync local --config headgate.yaml',
    page: 'docs/catalogue.md',
    options: { '--write <FILE>': 'put the new ones into a new file', ...JSON_OPTION, ...CONFIG_OPTION },
    run: async (words, flags) => (await import('../models.ts')).models(['sync', ...words], flags),
  }),
  command({
    usage: 'models import',
    summary: 'Read a price list, and show which models and prices are new or differ',
    details:
      "The list is a saved file: models.dev's api.json, or LiteLLM's model_prices_and_context_window.json.\n" +
      'NAMES: providers of the configuration, with commas between them; LIST=NAME where the name of the list is unknown.',
    example: 'models import --from prices.json --config headgate.yaml',
    page: 'docs/catalogue.md',
    required: { '--from <FILE>': 'the price list' },
    options: {
      '--provider <NAMES>': 'these providers only',
      '--match <PATTERN>': 'of names or slugs; * stands for any text',
      '--write <FILE>': 'the catalogue file: a new one, or one that an import wrote',
      ...JSON_OPTION,
      ...CONFIG_OPTION,
    },
    run: async (_, flags) => (await import('../models.ts')).models(['import'], flags),
  }),
  {
    usage: 'providers',
    summary: 'Show the presets of providers, and what providers send that is unknown',
    example: 'providers show mistral',
    page: 'docs/providers.md',
    usual: 'list',
  },
  command({
    usage: 'providers list',
    summary: 'List the presets',
    example: 'providers list',
    page: 'docs/providers.md',
    options: { ...JSON_OPTION },
    run: async (_, flags) => (await import('../providers.ts')).providers(['list'], flags),
  }),
  command({
    usage: 'providers show <PRESET>',
    summary: 'Show a preset: settings, variables, and the rules of the provider with their sources',
    example: 'providers show openai',
    page: 'docs/providers.md',
    options: { ...JSON_OPTION },
    run: async (words, flags) => (await import('../providers.ts')).providers(['show', ...words], flags),
  }),
  command({
    usage: 'providers drift',
    summary: 'Show words that providers have sent and headgate does not know',
    details: 'Members of reports of usage, ends of answers, service tiers.',
    example: 'providers drift --config headgate.yaml',
    page: 'docs/providers.md',
    options: { '--cursor <CURSOR>': 'the next page', ...JSON_OPTION, ...GATEWAY_OPTIONS },
    run: async (_, flags) => (await import('../provider-drift.ts')).providerDrift(flags),
  }),
  {
    usage: 'agents',
    summary: 'Show what to paste so that a coding agent uses this gateway',
    example: 'agents show claude-code',
    page: 'docs/agents/README.md',
    usual: 'list',
  },
  ...[
    ['list', 'Show it for each agent', 'agents list'],
    ['show <AGENT>', 'Show it for one agent: files and lines of a shell, with KEY for the key', 'agents show codex --config headgate.yaml'],
  ].map(([words = '', summary = '', example = '']) =>
    command({
      usage: `agents ${words}`,
      summary,
      example,
      page: 'docs/agents/README.md',
      options: { ...AGENT_OPTIONS, ...JSON_OPTION },
      run: async (named, flags) => (await import('../agents.ts')).agents([words.split(' ')[0] ?? '', ...named], flags),
    }),
  ),
  command({
    usage: 'agents check <AGENT>',
    summary: 'Ask the running gateway what would become of what the agent sends at its start',
    details: 'With the key in HEADGATE_KEY. Nothing is charged.',
    example: 'agents check codex --config headgate.yaml',
    page: 'docs/agents/README.md',
    options: AGENT_OPTIONS,
    run: async (words, flags) => (await import('../agents.ts')).agents(['check', ...words], flags),
  }),
  command({
    usage: 'probe <PROVIDER>',
    summary: 'Send a short matrix of requests to a real provider, and show what it refuses',
    details:
      'Text, a stream, a tool loop, a forced tool, structured output, the smallest cap, an image, reasoning over two turns.\n' +
      'PROVIDER is one of the configuration, or a preset. Without --yes it only shows what that would cost.',
    example: 'probe openai --model openai/gpt-5-mini --config headgate.yaml',
    page: 'docs/providers.md',
    options: {
      '--model <MODEL>': 'the model to send them to',
      '--yes': 'send them',
      '--record <FILE>': 'write requests and replies into a new file, without keys and ids of accounts',
      ...JSON_OPTION,
      ...CONFIG_OPTION,
    },
    run: async (words, flags) => (await import('../probe.ts')).probe(words, flags),
  }),
  command({
    usage: 'plugins',
    summary: 'Show the plugins, when they act, and what the configuration says of them',
    example: 'plugins --config headgate.yaml',
    page: 'docs/plugins.md',
    options: { ...JSON_OPTION, ...CONFIG_OPTION },
    run: async (_, flags) => (await import('../plugins.ts')).plugins([], flags),
  }),
]
