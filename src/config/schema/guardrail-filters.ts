/** One guardrail: the fields of the wire's object (contract section 7), and the operator's own. */
import { Type } from 'typebox'
import { moderationFields } from './moderation.ts'
import { maxPrice, tag } from './preferences.ts'
import { closed, duration, entryName, flag, line, listOf, oneOf, secret, url, withDefault } from './scalars.ts'

/** As `api/workspace.ts` has it; a test compares the two. */
export const WORKSPACE = '00000000-0000-8000-8000-000000000001'
const ACTIONS = ['flag', 'redact', 'block'] as const
/** As `guardrails/builtins.ts` has them; a test compares the two. */
export const BUILTIN_SLUGS = [
  'email',
  'phone',
  'ssn',
  'credit-card',
  'ip-address',
  'person-name',
  'address',
  'iban',
  'api-key',
  'regex-prompt-injection',
] as const

const action = (description: string) => oneOf(description, ACTIONS)

const filter = closed('A pattern that is looked for.', {
  pattern: Type.String({
    description: 'Regular expression in linear time: no look-around, no back-references.',
    minLength: 1,
    maxLength: 100_000,
    scalar: 'regex',
  }),
  action: action('What a match does.'),
  label: Type.Optional(line('Name of the filter in errors, and what stands in place of a match.', 100)),
})

const builtin = closed('A built-in recogniser.', {
  slug: oneOf('What it looks for.', BUILTIN_SLUGS),
  action: action('What a match does.'),
  scan_scope: Type.Optional(
    oneOf("Of regex-prompt-injection: the user's messages alone, or all. Without it all.", ['user_only', 'all_messages']),
  ),
})

const phrase = (description: string) => Type.String({ description, pattern: '\\S', maxLength: 1000, expected: 'a phrase' })

export const engine = closed('Called for every request.', {
  type: oneOf('Its format.', ['presidio', 'webhook', 'moderation']),
  url: Type.Optional(url('Whole address of a webhook; root of a Presidio analyser; of moderation as its engine has it.')),
  timeout: withDefault(duration('For each call.'), '2s'),
  on_error: withDefault(oneOf('When it does not answer: `closed` is a 503, `open` lets the request pass.', ['closed', 'open']), 'closed'),
  key: Type.Optional(secret('Sent as a bearer token.')),
  entities: Type.Optional(listOf('Of presidio: kinds it looks for. Without it all.', line('A kind such as PERSON.', 100), 1)),
  threshold: Type.Optional(Type.Number({ description: 'Of presidio: least score of a finding.', minimum: 0, maximum: 1 })),
  ...moderationFields,
  language: withDefault(
    Type.String({ description: 'Of presidio: language of the texts.', pattern: '^[a-z]{2}$', expected: 'two letters' }),
    'en',
  ),
})

const modelName = line('A slug, or a pattern such as openai/*.', 1024)

export const guardrail = closed('One guardrail.', {
  name: entryName('Name in metadata and errors.'),
  description: Type.Optional(line('What it is for.', 1000)),
  scope: Type.Optional(
    closed(
      'Requests to which it applies; without it, every request.',
      { keys: listOf('Names of keys of this file.', entryName('A key.'), 1) },
      ['members', 'workspaces'],
    ),
  ),
  direction: withDefault(oneOf('What is scanned: requests, answers (streamed ones too), or both.', ['input', 'output', 'both']), 'input'),
  restore: withDefault(flag('True: what was redacted of a request is put back into its answer.'), false),
  content_filters: withDefault(listOf('Patterns of your own.', filter), []),
  content_filter_builtins: withDefault(listOf('Built-in recognisers.', builtin), []),
  phrases: withDefault(
    Type.Array(phrase('Found whatever its case.'), { description: 'Phrases that are looked for, whatever their case.', maxItems: 1000 }),
    [],
  ),
  allowed_phrases: withDefault(
    Type.Array(phrase('Whatever its case.'), {
      description: 'Phrases that are no prompt injection, whatever is in them.',
      maxItems: 200,
    }),
    [],
  ),
  action: withDefault(action('What phrases and the findings of an engine do.'), 'block'),
  engine: Type.Optional(engine),
  allowed_models: Type.Optional(listOf('Only these models.', modelName, 1)),
  ignored_models: Type.Optional(listOf('Never these models.', modelName, 1)),
  allowed_providers: Type.Optional(tag('Only these providers.', 1)),
  ignored_providers: Type.Optional(tag('Never these providers.', 1)),
  enforce_zdr: Type.Optional(flag('Zero retention for all models whose own field is not set.')),
  enforce_zdr_anthropic: Type.Optional(flag('Zero retention for models of this author.')),
  enforce_zdr_openai: Type.Optional(flag('Zero retention for models of this author.')),
  enforce_zdr_google: Type.Optional(flag('Zero retention for models of this author.')),
  enforce_zdr_xai: Type.Optional(flag('Zero retention for models of this author.')),
  enforce_zdr_other: Type.Optional(flag('Zero retention for models of all other authors.')),
  enable_free_model_publication: withDefault(flag('False: no free endpoint whose provider may keep data.'), true),
  enable_free_model_training: withDefault(flag('False: no free endpoint whose provider may keep data.'), true),
  enable_paid_model_training: withDefault(flag('False: no paid endpoint whose provider may keep data.'), true),
  limit_usd: Type.Optional(Type.Number({ description: 'USD that each key may spend.', minimum: 0, maximum: 9_000_000 })),
  reset_interval: Type.Optional(oneOf('When the spend counts from zero again, in UTC. Without it never.', ['daily', 'weekly', 'monthly'])),
  max_price: Type.Optional(maxPrice),
  require_parameters: withDefault(flag('Only endpoints that take every parameter sent.'), false),
  include_byok_in_budgets: Type.Optional(flag("Without effect here: the gateway bills no keys of the callers' own.")),
  workspace_id: Type.Optional(oneOf('The one workspace that there is.', [WORKSPACE])),
  audit: withDefault(oneOf('What the audit trail keeps of a match: its hash, or its text as well.', ['hashes', 'full']), 'hashes'),
})
