/** One guardrail: the fields of the wire's object (docs/contract.md#guardrails), and the operator's own. */
import { Type } from 'typebox'
import { moderationFields } from '../fields/moderation.ts'
import { closed, duration, entryName, flag, line, listOf, oneOf, secret, url, withDefault } from '../fields/scalars.ts'
import { maxPrice, tag } from './preferences.ts'

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
  action: action('What happens on a match.'),
  label: Type.Optional(line('Name of the filter in errors, and what stands in place of a match.', 100)),
})

const builtin = closed('A built-in recogniser.', {
  slug: oneOf('What it looks for.', BUILTIN_SLUGS),
  action: action('What happens on a match.'),
  scan_scope: Type.Optional(
    oneOf("For regex-prompt-injection: only the user's messages, or all. If unset: all.", ['user_only', 'all_messages']),
  ),
})

const phrase = (description: string) => Type.String({ description, pattern: '\\S', maxLength: 1000, expected: 'a phrase' })

export const engine = closed('An engine that checks every request.', {
  type: oneOf('Kind of engine.', ['presidio', 'webhook', 'moderation']),
  url: Type.Optional(
    url('Full address of a webhook; base address of a Presidio analyser; for moderation, the address that its engine needs.'),
  ),
  timeout: withDefault(duration('For each call.'), '2s'),
  on_error: withDefault(
    oneOf('If the engine does not answer: `closed` returns 503, `open` lets the request pass.', ['closed', 'open']),
    'closed',
  ),
  key: Type.Optional(secret('Sent as a bearer token.')),
  entities: Type.Optional(listOf('For presidio: entity types to look for. If unset: all.', line('A kind such as PERSON.', 100), 1)),
  threshold: Type.Optional(Type.Number({ description: 'For presidio: lowest score that counts as a finding.', minimum: 0, maximum: 1 })),
  ...moderationFields,
  language: withDefault(
    Type.String({ description: 'For presidio: language of the texts.', pattern: '^[a-z]{2}$', expected: 'two letters' }),
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
  direction: withDefault(oneOf('What is scanned: requests, replies (streamed ones too), or both.', ['input', 'output', 'both']), 'input'),
  restore: withDefault(flag('True: text that was redacted in a request is restored in its reply.'), false),
  content_filters: withDefault(listOf('Patterns of your own.', filter), []),
  content_filter_builtins: withDefault(listOf('Built-in recognisers.', builtin), []),
  phrases: withDefault(
    Type.Array(phrase('Found whatever its case.'), { description: 'Phrases to look for, ignoring case.', maxItems: 1000 }),
    [],
  ),
  allowed_phrases: withDefault(
    Type.Array(phrase('Whatever its case.'), {
      description: 'Phrases that never count as prompt injection.',
      maxItems: 200,
    }),
    [],
  ),
  action: withDefault(action('What happens when a phrase or the engine matches.'), 'block'),
  engine: Type.Optional(engine),
  allowed_models: Type.Optional(listOf('Only these models.', modelName, 1)),
  ignored_models: Type.Optional(listOf('Never these models.', modelName, 1)),
  allowed_providers: Type.Optional(tag('Only these providers.', 1)),
  ignored_providers: Type.Optional(tag('Never these providers.', 1)),
  enforce_zdr: Type.Optional(
    flag('True: only providers that retain no data. Applies to authors without a field of their own that is set.'),
  ),
  enforce_zdr_anthropic: Type.Optional(flag('The same for models of this author.')),
  enforce_zdr_openai: Type.Optional(flag('The same for models of this author.')),
  enforce_zdr_google: Type.Optional(flag('The same for models of this author.')),
  enforce_zdr_xai: Type.Optional(flag('The same for models of this author.')),
  enforce_zdr_other: Type.Optional(flag('The same for models of all other authors.')),
  enable_free_model_publication: withDefault(flag('False: no free endpoint whose provider may keep data.'), true),
  enable_free_model_training: withDefault(flag('False: no free endpoint whose provider may keep data.'), true),
  enable_paid_model_training: withDefault(flag('False: no paid endpoint whose provider may keep data.'), true),
  limit_usd: Type.Optional(Type.Number({ description: 'USD that each key may spend.', minimum: 0, maximum: 9_000_000 })),
  reset_interval: Type.Optional(oneOf('When the spend starts from zero again, in UTC. If unset: never.', ['daily', 'weekly', 'monthly'])),
  max_price: Type.Optional(maxPrice),
  require_parameters: withDefault(flag('Only endpoints that accept every parameter of the request.'), false),
  include_byok_in_budgets: Type.Optional(flag('Has no effect: there are no provider keys of callers to bill.')),
  workspace_id: Type.Optional(oneOf('Id of the only workspace.', [WORKSPACE])),
  audit: withDefault(oneOf('What the audit trail keeps of a match: its hash, or its text as well.', ['hashes', 'full']), 'hashes'),
})
