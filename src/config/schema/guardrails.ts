/** Guardrails and plugins. */
import { Type } from 'typebox'
import { closed, entryName, flag, line, listOf, oneOf } from './scalars.ts'

/** Fields of the wire's guardrail object and of the operator's own that have no engine yet. */
const LATER = [
  'content_filter_builtins',
  'phrases',
  'engine',
  'action',
  'restore',
  'limit_usd',
  'reset_interval',
  'allowed_models',
  'ignored_models',
  'allowed_providers',
  'ignored_providers',
  'enforce_zdr',
  'enable_free_model_publication',
  'enable_free_model_training',
  'enable_paid_model_training',
]

const filter = closed('A pattern that must not occur.', {
  pattern: Type.String({
    description: 'Regular expression in linear time: no look-around, no back-references.',
    minLength: 1,
    maxLength: 100_000,
    scalar: 'regex',
  }),
  action: oneOf('What a match does.', ['block'], ['redact', 'flag']),
  label: Type.Optional(line('Name of the filter in errors.', 100)),
})

const guardrail = closed(
  'One guardrail.',
  {
    name: entryName('Name in metadata and errors.'),
    description: Type.Optional(line('What it is for.', 1000)),
    scope: Type.Optional(
      closed('Whom it applies to; without it, every request.', { keys: listOf('Names of keys of this file.', entryName('A key.'), 1) }, [
        'members',
        'workspaces',
      ]),
    ),
    direction: Type.Optional(oneOf('What is scanned; input by default.', ['input'], ['output', 'both'])),
    content_filters: listOf('Patterns.', filter, 1),
  },
  LATER,
)

export const guardrails = listOf('Guardrails, all of which apply.', guardrail)

/** Plugins that this version runs, and those that it knows by name only. */
export const PLUGINS = ['context-compression', 'auto-router', 'pareto-router', 'free-router'] as const
export const LATER_PLUGINS = ['moderation', 'file-parser', 'web', 'web-fetch', 'response-healing', 'fusion', 'auto-beta-router']

const modelPatterns = (description: string) => listOf(description, line('A slug, or a pattern such as openai/*.', 1024))

const autoRouter = closed('Chooses a model by the kind of the task.', {
  enabled: Type.Optional(flag('False: the prompt is not looked at.')),
  allowed_models: Type.Optional(modelPatterns('Only these models; * stands for any text. All by default.')),
  excluded_models: Type.Optional(modelPatterns('Never these models, whatever is allowed.')),
  cost_quality_tradeoff: Type.Optional(
    Type.Integer({ description: '0 for quality whatever it costs, 10 for the cheapest; 7 by default.', minimum: 0, maximum: 10 }),
  ),
  cost_tier: Type.Optional(oneOf('A band of prices; it rules over the trade-off.', ['low', 'medium', 'high', 'xhigh', 'max'])),
  pin_model: Type.Optional(flag('True: a conversation keeps the model that its last answer names.')),
})

const paretoRouter = closed('Chooses the cheapest model that codes well enough.', {
  enabled: Type.Optional(flag('For the form that all plugins have in common.')),
  min_coding_score: Type.Optional(
    Type.Number({ description: 'Tier of coding scores: high from 0.66, medium from 0.33, else low.', minimum: 0, maximum: 1 }),
  ),
  max_price: Type.Optional(Type.Number({ description: 'USD per million tokens; with it the tiers are left alone.', minimum: 0 })),
  price_source: Type.Optional(oneOf('Which price it bounds; prompt by default.', ['prompt', 'weighted_avg'])),
})

export const plugins = closed('Plugins that act on requests.', {
  order: Type.Optional(listOf('Plugins in the order in which they run.', oneOf('A plugin.', PLUGINS, LATER_PLUGINS))),
  defaults: Type.Optional(
    closed(
      "The operator's settings; a request's own fields come on top.",
      {
        'context-compression': Type.Optional(
          closed('Cuts out the middle of what does not fit.', {
            enabled: Type.Optional(flag('True: on for every model; by default only for those with a context of at most 8192.')),
            engine: Type.Optional(oneOf('How it is cut.', ['middle-out'])),
          }),
        ),
        'auto-router': Type.Optional(autoRouter),
        'pareto-router': Type.Optional(paretoRouter),
        'free-router': Type.Optional(
          closed('Chooses among the models that cost nothing.', {
            enabled: Type.Optional(flag('For the form that all plugins have in common.')),
          }),
        ),
      },
      LATER_PLUGINS,
    ),
  ),
})
