/** Providers: one account at one address each. */
import { type TSchema, Type } from 'typebox'
import { OPERATION_PATH, QUIRKS, type Quirks } from '../../dialects/quirks.ts'
import { closed, duration, flag, line, listOf, mapOf, NAME, NAME_EXPECTED, oneOf, perUnit, secret, url } from './scalars.ts'

const timeouts = closed('Time-outs of calls to this provider.', {
  connect: Type.Optional(duration('Until the connection stands; 5s by default.')),
  first_byte: Type.Optional(duration('Until the reply begins; 60s by default for streams, `total` for whole answers.')),
  idle: Type.Optional(duration('Between two data events of a stream; 30s by default.')),
  total: Type.Optional(duration('Until the reply has ended; 600s by default.')),
})

const faults = closed('Faults that a simulated provider shows.', {
  status: Type.Optional(Type.Integer({ description: 'HTTP status instead of an answer.', minimum: 400, maximum: 599 })),
  delay: Type.Optional(duration('Wait before the first event.')),
  cut_after: Type.Optional(Type.Integer({ description: 'The stream breaks off after so many events.', minimum: 0, maximum: 1_000_000 })),
  stall_after: Type.Optional(
    Type.Integer({ description: 'The stream falls silent after so many events.', minimum: 0, maximum: 1_000_000 }),
  ),
  rate: Type.Optional(Type.Number({ description: 'Share of the calls that show the fault; 1 by default.', minimum: 0, maximum: 1 })),
})

const country = (description: string) => Type.String({ description, pattern: '^[A-Z]{2}$', expected: 'two capital letters, such as DE' })

/** Formats in which models generate, and those in which they give vectors. */
export const GENERATING = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'sim'] as const
export const EMBEDDING = ['openai-chat', 'openai-responses', 'gemini', 'cohere', 'voyage', 'sim'] as const
export const DIALECTS = [...new Set<(typeof GENERATING | typeof EMBEDDING)[number]>([...GENERATING, ...EMBEDDING])]

/** Of a provider, or of one endpoint on top of its provider's. Those that the dialect does not read are refused by `checkQuirks`. */
export const quirks = Type.Unsafe<Omit<Quirks, 'faults'>>(closed('Small departures from the dialect.', optionalQuirks()))

/** The quirks of all dialects. Where several read one of the same name, the values of each fit here. */
function optionalQuirks(): Record<string, TSchema> {
  const names = new Set([...QUIRKS.values()].flatMap((table) => Object.keys(table)))
  return Object.fromEntries([...names].map((name) => [name, Type.Optional(merged(name))]))
}

function merged(name: string): TSchema {
  const readers = [...QUIRKS].flatMap(([dialect, { [name]: quirk }]) => (quirk ? [{ dialect, quirk: quirk as Quirk }] : []))
  const [{ quirk }] = readers
  const texts = Map.groupBy(readers, (reader) => reader.quirk.description)
  const description = [...texts].map(([text, of]) => `${text} (${of.map(({ dialect }) => dialect).join(', ')})`).join(' ')
  const values = new Set(readers.flatMap((reader) => reader.quirk.enum ?? []))
  return { ...quirk, description, ...(quirk.enum ? { enum: [...values] } : {}) }
}

type Quirk = TSchema & { description: string; enum?: string[] }

const discover = Type.Union(
  [
    Type.Boolean(),
    closed('How the list is asked for, and what its models cost.', {
      every: Type.Optional(duration('Time between two questions; 5m by default.')),
      price: Type.Optional(oneOf('free also where the provider is elsewhere; else such models have no price.', ['free'])),
    }),
  ],
  {
    description: 'Serve the models that the provider lists under /models as well.',
    expected: 'true, false or an object with `every` and `price`',
  },
)

const provider = closed('One provider.', {
  dialect: oneOf('The format that the provider speaks.', DIALECTS, ['bedrock']),
  name: Type.Optional(line("Name shown in replies and metadata; the entry's own name by default.")),
  base_url: Type.Optional(url('Address up to and without the operation, such as https://api.openai.com/v1.')),
  key: Type.Optional(secret('Key of the account; with an unset variable marked ? the provider is left out.')),
  discover: Type.Optional(discover),
  timeouts: Type.Optional(timeouts),
  on_abort: Type.Optional(oneOf('When a client goes: cancel the call, or drain it to learn the usage.', ['cancel', 'drain'])),
  data_collection: Type.Optional(oneOf('Whether the provider may keep data; allow by default.', ['allow', 'deny'])),
  zdr: Type.Optional(flag('True: the provider retains nothing.')),
  about: Type.Optional(
    closed('Facts for people, shown by GET /v1/providers.', {
      privacy_url: Type.Optional(url('Privacy policy.')),
      terms_url: Type.Optional(url('Terms of service.')),
      status_url: Type.Optional(url('Status page.')),
      headquarters: Type.Optional(country('Country of the headquarters.')),
      datacenters: Type.Optional(listOf('Countries of the data centres.', country('A country.'))),
    }),
  ),
  user: Type.Optional(oneOf('What becomes of `user` and `safety_identifier`; pass by default.', ['pass', 'hash', 'drop'])),
  headers: Type.Optional(
    mapOf(
      'Headers added to every call.',
      '^[A-Za-z0-9-]{1,64}$',
      'a header name',
      Type.String({ pattern: '^[\\x20-\\x7e]{0,2048}$', secret: true, expected: 'visible ASCII text' }),
    ),
  ),
  auth: Type.Optional(
    closed('How the key travels, where not as the dialect has it.', {
      header: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'Name of the header.', expected: 'a header name' }),
      scheme: Type.Optional(line('Word before the key, such as Bearer; none by default.', 32)),
    }),
  ),
  path: Type.Optional(
    Type.String({
      ...OPERATION_PATH,
      description: "Path of the operation under `base_url` in place of the dialect's own; {model} stands for the endpoint's model.",
    }),
  ),
  query: Type.Optional(
    mapOf(
      'Query of every call, such as api-version.',
      '^[A-Za-z0-9._-]{1,64}$',
      'a name',
      Type.String({ pattern: '^[\\x20-\\x7e]{0,256}$', expected: 'visible ASCII text' }),
    ),
  ),
  quirks: Type.Optional(quirks),
  passage: Type.Optional(closed('Opens the passage to provider-native paths.', { price: perUnit('USD per request.') })),
  faults: Type.Optional(faults),
})

export const providers = mapOf('Providers by name.', NAME, NAME_EXPECTED, provider)
