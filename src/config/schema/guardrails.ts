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
export const PLUGINS = ['context-compression'] as const
export const LATER_PLUGINS = [
  'moderation',
  'file-parser',
  'web',
  'web-fetch',
  'response-healing',
  'fusion',
  'auto-router',
  'auto-beta-router',
  'pareto-router',
]

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
      },
      LATER_PLUGINS,
    ),
  ),
})
