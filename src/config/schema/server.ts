/** Listeners, brand, store and keys. */
import { Type } from 'typebox'
import { limits, preferences } from './preferences.ts'
import {
  closed,
  count,
  duration,
  entryName,
  flag,
  host,
  listOf,
  memory,
  modelSlug,
  oneOf,
  port,
  secret,
  size,
  span,
  usd,
} from './scalars.ts'

export const server = closed('The public listener.', {
  host: Type.Optional(host('Address to listen on; 127.0.0.1 by default.')),
  port: Type.Optional(port('Port to listen on; 8080 by default, 0 for any free one.')),
  max_body: Type.Optional(size('Longest request body; 32MB by default.')),
  body_memory: Type.Optional(
    memory('Memory for the bodies of all requests in flight; a quarter of what the process may use by default, at most 512MB.'),
  ),
  max_headers: Type.Optional(size('Longest request head; 16KB by default.')),
  json_depth: Type.Optional(Type.Integer({ description: 'Deepest nesting of a request body; 128 by default.', minimum: 8, maximum: 1000 })),
  drain: Type.Optional(duration('Grace for open exchanges after SIGTERM; 30s by default.')),
  deadline: Type.Optional(duration('Longest exchange from end to end; 900s by default.')),
  keep_alive: Type.Optional(duration('How long an idle client connection stays open; 75s by default.')),
  header_timeout: Type.Optional(duration('Time to send a request head; 10s by default.')),
  body_timeout: Type.Optional(duration('Time after which a request body must have come at 16 KB per second on average; 60s by default.')),
  trusted_proxies: Type.Optional(
    listOf(
      'Proxies whose X-Forwarded-For, or PROXY header, names the caller: failed authentications count by that address.',
      Type.String({
        description: 'An address, or a network such as 10.0.0.0/8.',
        scalar: 'network',
        expected: 'an IP address, or a network such as 10.0.0.0/8',
      }),
    ),
  ),
  proxy_protocol: Type.Optional(
    flag('True: connections of trusted_proxies begin with a PROXY header, version 1 or 2. False by default; needs trusted_proxies.'),
  ),
  auth_failures: Type.Optional(
    closed('Failed authentications of one address, an IPv6 network /64 counting as one, in each process; then 429.', {
      burst: Type.Optional(Type.Integer({ description: 'At once; 100 by default.', minimum: 1, maximum: 1_000_000 })),
      per_minute: Type.Optional(Type.Integer({ description: 'Later on; 60 by default.', minimum: 1, maximum: 1_000_000 })),
    }),
  ),
  silence: Type.Optional(duration('Silence after which a stream gets a keep-alive comment; 10s by default.')),
})

export const admin = closed("The operator's listener: health, readiness, metrics, the ledger, and the commands of the command line.", {
  host: Type.Optional(host('Address to listen on; 127.0.0.1 by default.')),
  port: Type.Optional(port('Port to listen on; 8081 by default, 0 for any free one.')),
  token: Type.Optional(
    secret(
      'Bearer token for everything but health and metrics. Without it each start writes a fresh one, mode 0600, beside the store, where the command line reads it.',
      16,
    ),
  ),
  socket: Type.Optional(
    Type.String({
      description:
        'Path of a unix socket, mode 0600, that serves everything without a token. Without admin.token it replaces the token file.',
      minLength: 1,
      // sun_path of unix(7) holds 108 bytes with the final zero.
      maxLength: 100,
      expected: 'a path of at most 100 characters',
    }),
  ),
  health_port: Type.Optional(port('A further port, on server.host, that serves /healthz and /readyz alone; 0 for any free one.')),
})

export const brand = closed('White label.', {
  word: Type.Optional(
    Type.String({
      description: 'Word of `router_metadata`, `X-Router-Metadata` and `router:datetime`; router by default.',
      pattern: '^[a-z][a-z0-9]{0,31}$',
      expected: 'a lower-case word of letters and digits',
    }),
  ),
})

export const store = closed('Where holds, settlements and keys are kept.', {
  url: Type.Optional(
    Type.String({
      description: 'sqlite: and a path relative to the working directory, a postgres:// address for several machines, or memory:.',
      pattern: '^(sqlite:.+|memory:|postgres(ql)?://.+)$',
      expected: 'sqlite: and a path, a postgres:// address, or memory:',
      secret: true,
    }),
  ),
  durability: Type.Optional(oneOf('process survives kill -9; power adds an fsync to every commit.', ['process', 'power'])),
  journal: Type.Optional(
    Type.String({
      description: 'With postgres: the file in which each process keeps what it has not handed in yet; ./data/journal.db by default.',
      minLength: 1,
      expected: 'a path',
    }),
  ),
  retention: Type.Optional(span('Age at which generations are removed, at least 32d; their sums stay. Without it they are kept.')),
  files: Type.Optional(
    closed('Files that callers upload to /v1/files.', {
      path: Type.Optional(
        Type.String({
          description: 'Directory of the files; files beside the SQLite file, or beside the journal, by default.',
          minLength: 1,
          expected: 'a path',
        }),
      ),
      max_bytes: Type.Optional(size('Files of one key and of those that it issued together; 1GB by default.')),
      max_file: Type.Optional(size('The longest file; 100MB by default.')),
    }),
  ),
  lost_grace: Type.Optional(
    span('With postgres: how long the lease of a process that is lost counts as spent before it is set free; 24h by default.'),
  ),
})

export const shared = closed('What several processes share besides the store.', {
  url: Type.Optional(
    Type.String({
      description: 'A redis:// or rediss:// address: rate limits, sticky sessions and news of outages.',
      pattern: '^rediss?://.+$',
      expected: 'a redis:// or rediss:// address',
      secret: true,
    }),
  ),
  tls: Type.Optional(oneOf('off lets a redis:// address be of another machine; required by default.', ['required', 'off'])),
})

const key = closed('One API key.', {
  name: entryName('Identity of the key: its spend stays with the name when the secret changes.'),
  key: secret('The secret that callers send; an entry with an unset variable marked ? is left out.', 8),
  limit: Type.Optional(usd('USD that the key may spend, in all or per window; without it there is no limit.')),
  limit_reset: Type.Optional(
    oneOf('The limit counts the spend of the current UTC day, week (from Monday) or month.', ['daily', 'weekly', 'monthly']),
  ),
  management: Type.Optional(flag('True: manages and cannot generate.')),
  disabled: Type.Optional(flag('True: refused.')),
  expires_at: Type.Optional(
    Type.String({ description: 'Refused from this time on.', scalar: 'timestamp', expected: 'a time such as 2027-01-31T00:00:00Z' }),
  ),
  allowed_models: Type.Optional(
    listOf('Only these models; * stands for any text.', modelSlug('A slug, or a pattern such as openai/*.'), 1),
  ),
  provider: Type.Optional(preferences),
  limits: Type.Optional(limits),
  default_max_output: Type.Optional(count('Output cap in tokens of priced requests that set none; only where a limit or budget applies.')),
  passage: Type.Optional(flag('True: may use the passage to provider-native paths.')),
})

export const auth = closed('Who may call.', {
  keys: Type.Optional(listOf('API keys. Without this list a development key is used.', key)),
  sign_in: Type.Optional(
    closed('Lets applications ask the holder of a key for a key of their own. Without it sign-in is off.', {
      callbacks: Type.Optional(
        listOf(
          'Where codes may be sent; /* at the end stands for every path below. Queries are free.',
          Type.String({
            description: 'An https address, such as https://app.example/back.',
            scalar: 'callback',
            maxLength: 2048,
            expected: 'an https address without query, such as https://app.example/back',
          }),
        ),
      ),
      loopback: Type.Optional(flag("True, the default: programs on the browser's own machine need not be named.")),
      pkce: Type.Optional(oneOf('required, the default: a proof by S256. optional: also plain, or none.', ['required', 'optional'])),
    }),
  ),
})
