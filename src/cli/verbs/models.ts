/** Verbs on models, providers, agents and plugins. */
import type { Verb } from './verb.ts'

export function addModels(program: Verb): void {
  program.group('Models and providers')
  const models = program
    .add('models', {
      summary: 'Show models with their endpoints and prices; compare and import lists',
      example: 'models list --json',
      page: 'docs/catalogue.md',
    })
    .usually('list')
  models
    .add('list', {
      summary: 'Show the models of a configuration',
      example: 'models list --provider sim --config headgate.yaml',
      page: 'docs/catalogue.md',
    })
    .option('--provider <NAME>', 'those with an endpoint there')
    .option('--kind <KIND>', 'generate, embedding, rerank or image')
    .withJson()
    .withConfig()
    .does(async (_, flags) => (await import('../models.ts')).models(['list'], flags))
  models
    .add('show <SLUG>', {
      summary: 'Show one model with its endpoints and prices',
      example: 'models show sim/echo --config headgate.yaml',
      page: 'docs/catalogue.md',
    })
    .withJson()
    .withConfig()
    .does(async (words, flags) => (await import('../models.ts')).models(['show', ...words], flags))
  models
    .add('sync <PROVIDER>', {
      summary: "Fetch a provider's own list: what is new, gone, or of another length",
      example: 'models sync local --config headgate.yaml',
      page: 'docs/catalogue.md',
    })
    .option('--write <FILE>', 'put the new ones into a new file')
    .withJson()
    .withConfig()
    .does(async (words, flags) => (await import('../models.ts')).models(['sync', ...words], flags))
  models
    .add('import', {
      summary: 'Read a price list, and show which models and prices are new or differ',
      details:
        "The list is a saved file: models.dev's api.json, or LiteLLM's model_prices_and_context_window.json.\n" +
        'NAMES: providers of the configuration, with commas between them; LIST=NAME where the name of the list is unknown.',
      example: 'models import --from prices.json --config headgate.yaml',
      page: 'docs/catalogue.md',
    })
    .requiredOption('--from <FILE>', 'the price list')
    .option('--provider <NAMES>', 'these providers only')
    .option('--match <PATTERN>', 'of names or slugs; * stands for any text')
    .option('--write <FILE>', 'the catalogue file: a new one, or one that an import wrote')
    .withJson()
    .withConfig()
    .does(async (_, flags) => (await import('../models.ts')).models(['import'], flags))
  const providers = program
    .add('providers', {
      summary: 'Show the presets of providers, and what providers send that is unknown',
      example: 'providers show mistral',
      page: 'docs/providers.md',
    })
    .usually('list')
  providers
    .add('list', { summary: 'List the presets', example: 'providers list', page: 'docs/providers.md' })
    .withJson()
    .does(async (_, flags) => (await import('../providers.ts')).providers(['list'], flags))
  providers
    .add('show <PRESET>', {
      summary: 'Show a preset: settings, variables, and the rules of the provider with their sources',
      example: 'providers show openai',
      page: 'docs/providers.md',
    })
    .withJson()
    .does(async (words, flags) => (await import('../providers.ts')).providers(['show', ...words], flags))
  providers
    .add('drift', {
      summary: 'Show words that providers have sent and headgate does not know',
      details: 'Members of reports of usage, ends of answers, service tiers.',
      example: 'providers drift --config headgate.yaml',
      page: 'docs/providers.md',
    })
    .option('--cursor <CURSOR>', 'the next page')
    .withJson()
    .withGateway()
    .does(async (_, flags) => (await import('../provider-drift.ts')).providerDrift(flags))
  addAgents(program)
  program
    .add('probe <PROVIDER>', {
      summary: 'Send a short matrix of requests to a real provider, and show what it refuses',
      details:
        'Text, a stream, a tool loop, a forced tool, structured output, the smallest cap, an image, reasoning over two turns.\n' +
        'PROVIDER is one of the configuration, or a preset. Without --yes it only shows what that would cost.',
      example: 'probe openai --model openai/gpt-5-mini --config headgate.yaml',
      page: 'docs/providers.md',
    })
    .option('--model <MODEL>', 'the model to send them to')
    .option('--yes', 'send them')
    .option('--record <FILE>', 'write requests and replies into a new file, without keys and ids of accounts')
    .withJson()
    .withConfig()
    .does(async (words, flags) => (await import('../probe.ts')).probe(words, flags))
  program
    .add('plugins', {
      summary: 'Show the plugins, when they act, and what the configuration says of them',
      example: 'plugins --config headgate.yaml',
      page: 'docs/plugins.md',
    })
    .withJson()
    .withConfig()
    .does(async (_, flags) => (await import('../plugins.ts')).plugins([], flags))
}

function addAgents(program: Verb): void {
  const agents = program
    .add('agents', {
      summary: 'Show what to paste so that a coding agent uses this gateway',
      example: 'agents show claude-code',
      page: 'docs/agents/README.md',
    })
    .usually('list')
  const verbs = [
    ['list', 'Show it for each agent', 'agents list'],
    ['show <AGENT>', 'Show it for one agent: files and lines of a shell, with KEY for the key', 'agents show codex --config headgate.yaml'],
    [
      'check <AGENT>',
      'Ask the running gateway what would become of what the agent sends at its start',
      'agents check codex --config headgate.yaml',
    ],
  ] as const
  for (const [usage, summary, example] of verbs) {
    const [verb = ''] = usage.split(' ')
    const details = verb === 'check' ? { details: 'With the key in HEADGATE_KEY. Nothing is charged.' } : {}
    const added = agents
      .add(usage, { summary, example, page: 'docs/agents/README.md', ...details })
      .option('--model <SLUG>', 'in place of those of `agents` in the configuration, or of the default model')
      .option('--url <ADDRESS>', 'of the gateway, in place of the one of the configuration')
      .withConfig()
    if (verb !== 'check') added.withJson()
    added.does(async (words, flags) => (await import('../agents.ts')).agents([verb, ...words], flags))
  }
}
