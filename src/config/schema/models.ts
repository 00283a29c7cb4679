/** Models and their endpoints. */
import { type TSchema, Type } from 'typebox'
import { LISTED_PARAMETERS } from '../../core/parameters.ts'
import { MAX_OVERRIDES } from '../../core/price.ts'
import { WEEKDAYS } from '../../core/price-window.ts'
import { SERVICE_TIERS } from '../../core/service-tiers.ts'
import { TOKEN_KINDS, type TokenPrice } from '../../core/token-kinds.ts'
import { MODEL_FLAGS } from '../../routing/criteria/index.ts'
import {
  asWritten,
  choiceField,
  closed,
  count,
  entryName,
  flag,
  line,
  listField,
  mapField,
  perMillion,
  perUnit,
  SLUG,
  SLUG_EXPECTED,
} from '../fields/scalars.ts'
import { quantization } from './preferences.ts'
import { endpointCredential, quirks } from './providers.ts'

const clock = (description: string) =>
  Type.String({
    description,
    pattern: '^([01][0-9]|2[0-3])[0-5][0-9]$',
    expected: 'a time of day in UTC as four digits in quotes, such as "0130"',
  })

const day = (description: string) =>
  Type.String({ description, pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', scalar: 'timestamp', expected: 'a day such as "2026-11-01"' })

/** A field for the price of each kind of token. */
function tokenPrices<Field>(field: (kind: PriceText) => Field): { [price in TokenPrice]: Field } {
  return Object.fromEntries(TOKEN_KINDS.map((kind) => [kind.price, field(kind)])) as { [price in TokenPrice]: Field }
}

interface PriceText {
  readonly text: string
  readonly note?: string
  readonly fallback?: string
}

const stated = ({ text, note = '', fallback }: PriceText) =>
  Type.Optional(perMillion(`USD per million ${text}${note}.${fallback === undefined ? '' : ` If unset: \`${fallback}\`.`}`))

const override = closed('Prices in place of those above where every condition holds; of several the later one wins, price by price.', {
  min_prompt_tokens: Type.Optional(count('Condition: the prompt has more tokens than this, those read from a cache included.', 0)),
  utc_start: Type.Optional(clock('Condition: from this time of day on, UTC.')),
  utc_end: Type.Optional(clock('Condition: before this time of day, UTC. If it is before `utc_start`, the period passes midnight.')),
  days: Type.Optional(
    listField(
      'Condition: on these days of the week, UTC. A period that passes midnight is of the day on which it begins.',
      choiceField('A day of the week.', WEEKDAYS),
      1,
    ),
  ),
  not_on: Type.Optional(listField('Condition: not on these days, UTC, such as public holidays.', day('A day.'), 1)),
  from: Type.Optional(day('Condition: from this day on, 00:00 UTC, such as a change that the provider has announced.')),
  ...tokenPrices(({ text }) => Type.Optional(perMillion(`USD per million ${text}.`))),
})

/** Of Anthropic so far `us` and `global`. */
const REGION = '^[a-z][a-z0-9_-]{0,31}$'

const price = Type.Union(
  [
    choiceField('No price of its own.', ['free', 'snapshot']),
    closed('Prices.', {
      ...tokenPrices(stated),
      prompt: perMillion('USD per million input tokens.'),
      request: Type.Optional(perUnit('USD per request, on top.')),
      image: Type.Optional(perUnit('USD per image of the request, on top.')),
      web_search: Type.Optional(perUnit('USD per search that the provider runs, on top.')),
      own_searches: Type.Optional(
        Type.Integer({
          description:
            'Searches that a model which searches unasked runs for a request at most: a hold counts each at `web_search`, and credit for what they find is kept free under a limit.',
          minimum: 1,
          maximum: 1000,
          expected: 'an integer from 1 to 1000',
        }),
      ),
      tools: Type.Optional(
        closed('Other tools that the provider runs for a fee, on top.', {
          code_interpreter: Type.Optional(perUnit('USD per run of its code interpreter.')),
          file_search: Type.Optional(perUnit('USD per search of files.')),
          x_search: Type.Optional(perUnit('USD per search of X.')),
          document_search: Type.Optional(perUnit('USD per search of the files of a request, which xAI runs unasked.')),
          image_generation: Type.Optional(
            closed('Its tool for images, whichever model draws them.', {
              prompt: perMillion('USD per million tokens that it reads.'),
              completion: perMillion('USD per million tokens that it draws.'),
            }),
          ),
        }),
      ),
      container: Type.Optional(
        perUnit('USD per gigabyte of memory of a container that the provider starts for a request, for its code interpreter or shell.'),
      ),
      inference_geo: Type.Optional(
        mapField(
          'Factors on the prices per token, by the region that a request names in `inference_geo`, such as `{ us: 1.1 }`.',
          REGION,
          'the name of a region such as us',
          Type.Number({ minimum: 1, maximum: 10, expected: 'a factor from 1 to 10' }),
        ),
      ),
      overrides: Type.Optional(
        Type.Array(override, {
          description: 'Other prices for long prompts, hours of the day or days of the week.',
          maxItems: MAX_OVERRIDES,
        }),
      ),
    }),
  ],
  {
    description:
      'What the endpoint costs. `snapshot`: what the price snapshot states for the model at this provider. Without a price, a key with a limit cannot use the endpoint.',
    expected: 'free, snapshot, or an object of prices',
  },
)

/** Kinds of task that a score may be for; `general` stands in for those that are not scored. */
export const TASKS = ['general', 'coding', 'reasoning', 'math', 'writing', 'extraction', 'translation', 'tools', 'vision'] as const

const scores = mapField(
  'Quality by kind of task, from 0 to 1, such as `{ coding: 0.72, tools: 0.8 }`: used by router models and by the order `exacto`.',
  `^(${TASKS.join('|')})$`,
  `one of ${TASKS.join(', ')}`,
  Type.Number({ minimum: 0, maximum: 1, expected: 'a number from 0 to 1' }),
)

const endpoint = closed('One model at one provider.', {
  provider: entryName('A provider of this file.'),
  model: line("The provider's own name of the model; * stands for what the * of the model's slug matches."),
  price: Type.Optional(price),
  quantization: Type.Optional(quantization),
  context: Type.Optional(count("Tokens of input and output, where it differs from the model's.")),
  max_output: Type.Optional(count("Tokens of output, where it differs from the model's.")),
  quirks: Type.Optional(quirks),
  credential: Type.Optional(endpointCredential),
  supported_parameters: Type.Optional(
    listField(
      'Parameters that the endpoint accepts, by their names in the model list. If unset: all.',
      choiceField('A parameter.', LISTED_PARAMETERS),
    ),
  ),
  variant: Type.Optional(entryName('Distinguishes two endpoints of one model at one provider; preferences name it `provider/variant`.')),
  tier: Type.Optional(choiceField('A service tier; serves only requests that select it.', SERVICE_TIERS)),
  scores: Type.Optional(scores),
  weight: Type.Optional(
    Type.Number({
      description:
        'Its part of the requests: 80 and 20 give four fifths and one fifth, whatever the prices. 0: drained. If another endpoint of the model states one: 1; if none does, prices decide.',
      minimum: 0,
      maximum: 1_000_000,
      expected: 'a number from 0 to 1000000',
    }),
  ),
})

/** Facts that one routing criterion alone reads. */
const flags: Record<never, TSchema> = Object.fromEntries(MODEL_FLAGS.map(({ name, text }) => [name, Type.Optional(flag(text))]))

const model = closed('One model.', {
  name: Type.Optional(line('Display name. If unset: the slug.')),
  description: Type.Optional(line('What the model is.', 2000)),
  created: Type.Optional(day('Day of release, such as `"2026-11-01"`, for the model list.')),
  expiration: Type.Optional(day('Day from which its providers no longer serve it, as they announced it; shown as `expiration_date`.')),
  kind: Type.Optional(
    choiceField(
      'What it does. If unset: `generate`; a slug `author/*` then both generates and embeds, as the request wants.',
      ['generate', 'embedding'],
      ['rerank', 'image'],
    ),
  ),
  context: Type.Optional(count('Tokens of input and output together; for embeddings, of each input.')),
  max_output: Type.Optional(count('Tokens of output at most.')),
  default_max_output: Type.Optional(
    count('Output cap in tokens for requests that set none. Applies only to priced endpoints under a limit or budget.'),
  ),
  input: Type.Optional(
    listField(
      'Input modalities; requests with others are refused. If unset: the provider decides, and lists show `text`; a declared embedding model accepts text.',
      choiceField('A modality.', ['text', 'image', 'file', 'audio', 'video']),
      1,
    ),
  ),
  output: Type.Optional(
    listField(
      'Output modalities. If unset: `text`; with `kind: embedding`, and only there, `embeddings`.',
      choiceField('A modality.', ['text', 'image', 'audio', 'embeddings']),
      1,
    ),
  ),
  long_input: Type.Optional(
    choiceField('For embeddings: whether an input that is too long is truncated or rejected. If unset: the provider decides.', [
      'truncate',
      'reject',
    ]),
  ),
  scores: Type.Optional(scores),
  ...flags,
  endpoints: listField('Where it is served.', endpoint, 1),
})

/** As written, since what an entry leaves out comes from its model, from its provider, or from what the provider lists (routing/catalog). */
export const models = asWritten(
  mapField(
    'Models by slug: `author/name`, or a bare name such as `gpt-4o`. A slug that ends in /* accepts every name and passes it on.',
    SLUG,
    SLUG_EXPECTED,
    model,
  ),
)
