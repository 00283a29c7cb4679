/** Providers: one account at one address each. */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../../core/json.ts'
import { DIALECTS, OPERATION_PATH, QUIRKS, type Quirks } from '../../dialects/quirks.ts'
import { CREDENTIAL_SOURCES } from '../../services/credentials/sources/index.ts'
import { TRACE_SCOPES } from '../../services/telemetry/trace-context.ts'
import {
  asWritten,
  choiceField,
  closed,
  count,
  duration,
  entryName,
  flag,
  line,
  listField,
  mapField,
  NAME,
  NAME_EXPECTED,
  perUnit,
  secret,
  url,
  withDefault,
} from '../fields/scalars.ts'
import { connection } from './provider-connection.ts'

const timeouts = closed('Time-outs of calls to this provider. `idle` and `total` pause while a slow caller holds the provider back.', {
  connect: withDefault(duration('Until the request goes out.'), '5s'),
  first_byte: withDefault(
    duration('From then to the first data of the reply. If the file does not set it, replies that are not streamed have until `total`.'),
    '60s',
  ),
  idle: withDefault(duration('Between two data events of a stream; comments and keep-alives do not count.'), '30s'),
  total: withDefault(duration('Until the reply has ended.'), '600s'),
})

const faults = closed('Faults that a simulated provider shows.', {
  status: Type.Optional(Type.Integer({ description: 'HTTP status instead of an answer.', minimum: 400, maximum: 599 })),
  delay: Type.Optional(duration('Wait before the first event.')),
  cut_after: Type.Optional(Type.Integer({ description: 'The stream breaks off after so many events.', minimum: 0, maximum: 1_000_000 })),
  stall_after: Type.Optional(
    Type.Integer({ description: 'The stream stops sending after so many events.', minimum: 0, maximum: 1_000_000 }),
  ),
  rate: withDefault(Type.Number({ description: 'Share of the calls that show the fault, 0 to 1.', minimum: 0, maximum: 1 }), 1),
})

const country = (description: string) => Type.String({ description, pattern: '^[A-Z]{2}$', expected: 'two capital letters, such as DE' })

/** Of a provider, or of one endpoint on top of its provider's. Those that the dialect does not read are refused by `checkQuirks`. */
export const quirks = asWritten(Type.Unsafe<Omit<Quirks, 'faults'>>(closed('Differences from the dialect.', optionalQuirks())))

/** The quirks of all dialects. Where several read one of the same name, the values of each fit here. */
function optionalQuirks(): Record<string, TSchema> {
  const names = new Set([...QUIRKS.values()].flatMap((table) => Object.keys(table)))
  return Object.fromEntries([...names].map((name) => [name, Type.Optional(merged(name))]))
}

function merged(name: string): TSchema {
  const readers = [...QUIRKS].flatMap(([dialect, { [name]: quirk }]) => (quirk ? [{ dialect, quirk: quirk as Quirk }] : []))
  const [first] = readers
  if (!first) throw new TypeError(`no dialect has the quirk ${name}`)
  const { quirk } = first
  const texts = Map.groupBy(readers, (reader) => reader.quirk.description)
  const description = [...texts].map(([text, of]) => `${text} (${of.map(({ dialect }) => dialect).join(', ')})`).join(' ')
  const values = new Set(readers.flatMap((reader) => reader.quirk.enum ?? []))
  return { ...quirk, description, ...(quirk.enum ? { enum: [...values] } : {}) }
}

type Quirk = TSchema & { description: string; enum?: string[] }

/** Settings of `discover`, which `discover: true` stands for, too. */
export const discovery = closed('How the list is fetched, and what its models cost.', {
  every: withDefault(duration('Time between two fetches of the list.'), '5m'),
  price: Type.Optional(
    choiceField(
      '`free`: the models are free; `snapshot`: they cost what the price snapshot states. If unset: they are free only if every address of the host is loopback or private; otherwise they have no price, and keys with a limit cannot use them.',
      ['free', 'snapshot'],
    ),
  ),
})

const discover = Type.Union([Type.Boolean(), discovery], {
  description: 'True: also serves the models that the provider lists under `/models`, as `provider/name`.',
  expected: 'true, false or an object with `every` and `price`',
})

const sources: Record<string, TSchema> = Object.fromEntries(CREDENTIAL_SOURCES.map(({ name, settings }) => [name, Type.Optional(settings)]))

const credential = closed('A credential that rotates, in place of `key`: one source, named by its key here.', {
  ...sources,
  refresh: Type.Optional(
    duration(
      'Time after which it is fetched again at the latest. If unset: ahead of the end that the answer states; `5m` where it states none.',
    ),
  ),
})

/** Members that are left out of these come from the provider: `checkEndpointCredential` finds what neither has. */
const partial: Record<string, TSchema> = Object.fromEntries(
  CREDENTIAL_SOURCES.map(({ name, settings }) => [
    name,
    Type.Optional({ ...settings, ...('required' in settings ? { required: [] } : {}) }),
  ]),
)

/** Of an endpoint, on top of its provider's. */
export const endpointCredential = asWritten(
  Type.Unsafe<JsonObject>(closed("Settings on top of the provider's `credential` for this endpoint, such as another role.", partial)),
)

export const provider = closed('One provider.', {
  preset: Type.Optional(
    line('Name of a shipped preset that this entry begins with; every other field of the entry comes on top of it.', 64),
  ),
  dialect: choiceField('The format that the provider speaks; `cohere` and `voyage` for embeddings alone.', DIALECTS, ['bedrock']),
  name: Type.Optional(line("Name shown in replies and metadata. If unset: the entry's own name.")),
  base_url: Type.Optional(url('Address up to and without the operation, such as `https://api.openai.com/v1`; not for `sim`.')),
  snapshot_url: Type.Optional(
    url('Address by which the price snapshot knows the provider, if `base_url` is another one, such as that of a proxy in front of it.'),
  ),
  key: Type.Optional(secret('Key of the account. If its variable is marked ? and not set, the provider is left out.')),
  credential: Type.Optional(credential),
  keys: Type.Optional(
    listField(
      'Several keys of one account, in place of `key`: calls are spread over them, a conversation keeps its key. One that the provider refuses is left out for ten minutes, one that it limits rests for as long as it says.',
      closed('One key.', {
        name: Type.Optional(entryName('For logs and metrics. If unset: its number in the list.')),
        key: secret('The key.'),
        weight: withDefault(count('Its share of the calls, in proportion to the others.'), 1),
        requests_per_minute: Type.Optional(
          count('Calls that it is given within a minute, by each process, as long as another key has room.'),
        ),
      }),
      1,
    ),
  ),
  account: Type.Optional(
    line(
      'Name of your account at the provider. Reasoning that a provider signed or encrypted is sent back only to the account that made it; entries of the same name share it, and a new key changes nothing. If unset: each pair of `base_url` and `key` is an account.',
      64,
    ),
  ),
  discover: withDefault(discover, false),
  timeouts: withDefault(timeouts, {}),
  connection: withDefault(connection, {}),
  on_abort: withDefault(
    choiceField(
      'When a client disconnects: `cancel` ends the call after 2 s; `drain` reads on for at most 30 s, so that the provider can report the usage.',
      ['cancel', 'drain'],
    ),
    'cancel',
  ),
  price_time: withDefault(
    choiceField(
      'When a request counts for prices by the hour: `start`, when it is admitted; `end`, when its answer has ended, so that a hold counts the dearest hour.',
      ['start', 'end'],
    ),
    'start',
  ),
  data_collection: withDefault(
    choiceField('What you state of the provider. `deny`: it keeps no data for training.', ['allow', 'deny']),
    'allow',
  ),
  zdr: withDefault(flag('What you state of the provider. True: it retains no data.'), false),
  about: withDefault(
    closed('Facts for people, shown by GET /v1/providers.', {
      privacy_url: Type.Optional(url('Privacy policy.')),
      terms_url: Type.Optional(url('Terms of service.')),
      status_url: Type.Optional(url('Status page.')),
      headquarters: Type.Optional(country('Country of the headquarters: two capital letters, such as `DE` (ISO 3166-1).')),
      datacenters: Type.Optional(listField('Countries of the data centres.', country('A country.'))),
    }),
    {},
  ),
  user: withDefault(
    choiceField('Whether `user` and `safety_identifier` are passed on, hashed with SHA-256, or left out.', ['pass', 'hash', 'drop']),
    'pass',
  ),
  trace_context: withDefault(
    choiceField(
      "What of a request's trace is sent along: `none`; `trace`, the headers `traceparent` and `tracestate`; `baggage`, these and the caller's `baggage`.",
      TRACE_SCOPES,
    ),
    'none',
  ),
  telemetry_name: Type.Optional(
    line('`gen_ai.provider.name` in traces, where the conventions have a word for the provider. If unset: the name of the entry.', 64),
  ),
  headers: withDefault(
    mapField(
      'Headers added to every call.',
      '^[A-Za-z0-9-]{1,64}$',
      'a header name',
      Type.String({ pattern: '^[\\x20-\\x7e]{0,2048}$', secret: true, expected: 'visible ASCII text' }),
    ),
    {},
  ),
  auth: Type.Optional(
    closed('How the key is sent, if not as the dialect does.', {
      header: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'Name of the header.', expected: 'a header name' }),
      scheme: Type.Optional(line('Word before the key, such as `Bearer`. If unset: there is none.', 32)),
    }),
  ),
  path: Type.Optional(
    Type.String({
      ...OPERATION_PATH,
      description: "Path of the operation under `base_url` in place of the dialect's own; `{model}` stands for the endpoint's model.",
    }),
  ),
  query: Type.Optional(
    mapField(
      'Query of every call, such as `{ api-version: "2024-10-21" }`.',
      '^[A-Za-z0-9._-]{1,64}$',
      'a name',
      Type.String({ pattern: '^[\\x20-\\x7e]{0,256}$', expected: 'visible ASCII text' }),
    ),
  ),
  quirks: withDefault(quirks, {}),
  pass_through: Type.Optional(
    closed('Opens the pass-through to provider-native paths, `/v1/passage/<provider>/…`.', {
      price: perUnit('USD per request, at least.'),
      unread_price: Type.Optional(
        perUnit('USD per request of a key with a limit whose cost the gateway cannot read or bound. Without it such requests return 403.'),
      ),
    }),
  ),
  faults: Type.Optional(faults),
})

export const providers = mapField('Providers by name.', NAME, NAME_EXPECTED, provider)
