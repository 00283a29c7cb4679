/** Listeners, brand, store and keys. */
import { Type } from 'typebox'
import { limits, preferences } from './preferences.ts'
import {
  atStart,
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
  time,
  usd,
  withDefault,
} from './scalars.ts'

export const server = closed('The public listener.', {
  host: atStart(withDefault(host('Address to listen on. `--host` wins.'), '127.0.0.1')),
  port: atStart(withDefault(port('Port to listen on; 0 for any free one. `--port` wins.'), 8080)),
  max_body: withDefault(size('Longest request body; longer ones get 413.'), '32MB'),
  body_memory: Type.Optional(
    memory(
      'Memory for the bodies of all requests in flight, 1MB to 1024GB. Without it a quarter of the memory that the process may use (the limit of its cgroup where it has one, else that of the machine), at most 512MB.',
    ),
  ),
  max_headers: atStart(withDefault(size('Longest request head; longer ones get 431.'), '16KB')),
  json_depth: withDefault(Type.Integer({ description: 'Deepest nesting of a request body.', minimum: 8, maximum: 1000 }), 128),
  drain: withDefault(duration('How long open requests may go on after SIGTERM.'), '30s'),
  deadline: withDefault(duration('Longest request from end to end; then 408.'), '900s'),
  keep_alive: atStart(
    withDefault(duration('How long an idle client connection stays open. Keep it above that of a load balancer in front.'), '75s'),
  ),
  header_timeout: atStart(withDefault(duration('Time for a client to send a request head.'), '10s')),
  body_timeout: atStart(withDefault(duration('Time after which a request body must have come at 16 KB per second on average.'), '60s')),
  trusted_proxies: atStart(
    withDefault(
      listOf(
        'Addresses and networks of the proxies in front. Their X-Forwarded-For names the caller (the right-most entry that is no trusted proxy), or their PROXY header does; failed authentications count by that address.',
        Type.String({
          description: 'An address, or a network such as 10.0.0.0/8.',
          scalar: 'network',
          expected: 'an IP address, or a network such as 10.0.0.0/8',
        }),
      ),
      [],
    ),
  ),
  proxy_protocol: atStart(
    withDefault(
      flag('True: connections of `trusted_proxies` begin with a PROXY header, version 1 or 2; others carry none. Needs `trusted_proxies`.'),
      false,
    ),
  ),
  auth_failures: atStart(
    withDefault(
      closed(
        'Failed authentications of one address, an IPv6 network /64 counting as one, in each process; then 429 with Retry-After. Good keys from that address still work.',
        {
          burst: withDefault(Type.Integer({ description: 'At once.', minimum: 1, maximum: 1_000_000 }), 100),
          per_minute: withDefault(Type.Integer({ description: 'Later on.', minimum: 1, maximum: 1_000_000 }), 60),
        },
      ),
      {},
    ),
  ),
  silence: withDefault(duration('Silence after which headers go out early and a stream gets a keep-alive comment.'), '10s'),
})

export const admin = closed("The operator's listener: health, readiness, metrics, the ledger, and the commands of the command line.", {
  host: atStart(withDefault(host('Address to listen on.'), '127.0.0.1')),
  port: atStart(withDefault(port('Port to listen on; 0 for any free one.'), 8081)),
  token: atStart(
    Type.Optional(
      secret(
        'Bearer token for everything but health and metrics, 16 characters or more; name a variable of the environment here. Without it each start writes a fresh token to `<store file>.admin-token` (with PostgreSQL `<store.journal>.admin-token`), mode 0600, where the command line of the same account reads it.',
        16,
      ),
    ),
  ),
  socket: atStart(
    Type.Optional(
      Type.String({
        description:
          'Path of a unix socket, mode 0600, that serves everything without a token. Without `token`, TCP then serves health and metrics only, and no token file is written.',
        minLength: 1,
        // sun_path of unix(7) holds 108 bytes with the final zero.
        maxLength: 100,
        expected: 'a path of at most 100 characters',
      }),
    ),
  ),
  health_port: atStart(
    Type.Optional(port('A further port, on `server.host`, that serves `/healthz` and `/readyz` alone; 0 for any free one.')),
  ),
})

export const brand = closed('White label.', {
  word: withDefault(
    Type.String({
      description: 'Word of `router_metadata`, `X-Router-Metadata` and `router:datetime`.',
      pattern: '^[a-z][a-z0-9]{0,31}$',
      expected: 'a lower-case word of letters and digits',
    }),
    'router',
  ),
})

export const store = closed('Where holds, settlements and keys are kept.', {
  url: atStart(
    withDefault(
      Type.String({
        description:
          '`sqlite:` and a path relative to the working directory; `postgres://…` for several machines, over TLS unless it is on this machine or says `sslmode=disable`; or `memory:`.',
        pattern: '^(sqlite:.+|memory:|postgres(ql)?://.+)$',
        expected: 'sqlite: and a path, a postgres:// address, or memory:',
        secret: true,
      }),
      'sqlite:./data/headgate.db',
    ),
  ),
  durability: atStart(
    withDefault(oneOf('`process` survives kill -9; `power` adds an fsync to every commit.', ['process', 'power']), 'process'),
  ),
  journal: atStart(
    withDefault(
      Type.String({
        description: 'With PostgreSQL: the file in which each process keeps what it has not forwarded yet. Each process adds its number.',
        minLength: 1,
        expected: 'a path',
      }),
      './data/journal.db',
    ),
  ),
  retention: atStart(
    Type.Optional(span('Age such as `90d` at which generations are removed, at least 32 days; their sums stay. Without it they are kept.')),
  ),
  files: withDefault(
    closed('Files that callers upload to /v1/files.', {
      path: atStart(
        Type.Optional(
          Type.String({
            description: 'Directory of the files. Without it `files` beside the SQLite file, or beside the journal.',
            minLength: 1,
            expected: 'a path',
          }),
        ),
      ),
      max_file: atStart(withDefault(size('The longest file.'), '100MB')),
      max_bytes: atStart(withDefault(size('Files of one key and of those that it issued together.'), '1GB')),
    }),
    {},
  ),
  lost_grace: atStart(
    withDefault(span('With PostgreSQL: how long the lease of a process that is lost counts as spent before it is set free.'), '24h'),
  ),
})

export const shared = closed('What several processes share besides the store.', {
  url: atStart(
    Type.Optional(
      Type.String({
        description:
          'A `rediss://` address, or `redis://` for a Redis on this machine: rate limits, sticky sessions and news of outages that all processes share.',
        pattern: '^rediss?://.+$',
        expected: 'a redis:// or rediss:// address',
        secret: true,
      }),
    ),
  ),
  tls: withDefault(
    oneOf('With `off` a `redis://` address may be of another machine: passwords, counts and news then cross the network in plain text.', [
      'required',
      'off',
    ]),
    'required',
  ),
})

export const key = closed('One API key.', {
  name: entryName('Identity of the key. Spend is kept by name, so a new secret changes nothing.'),
  key: secret(
    'The secret that callers send, at least 8 characters; only its SHA-256 is kept in memory. An entry with an unset variable marked ? is left out.',
    8,
  ),
  limit: Type.Optional(usd('USD that the key may spend: in all, or in each window of `limit_reset`. Without it there is no limit.')),
  limit_reset: Type.Optional(
    oneOf('The limit counts the spend of the current UTC day, week (from Monday) or month.', ['daily', 'weekly', 'monthly']),
  ),
  management: withDefault(flag('True: manages, and cannot generate.'), false),
  disabled: withDefault(flag('True: refused.'), false),
  expires_at: Type.Optional(time('Refused from this time on.')),
  allowed_models: Type.Optional(
    listOf('Only these models; `*` stands for any text.', modelSlug('A slug, or a pattern such as openai/*.'), 1),
  ),
  provider: Type.Optional(preferences),
  limits: withDefault(limits, {}),
  default_max_output: Type.Optional(count('Output cap in tokens of priced requests that set none; only where a limit or budget applies.')),
  pass_through: withDefault(flag('True: may use the pass-through to provider-native paths.'), false),
})

export const auth = closed('Who may call.', {
  keys: Type.Optional(listOf('API keys. Without this list a development key is used.', key)),
  sign_in: Type.Optional(
    closed('Lets applications ask the holder of a key for a key of their own. Without it sign-in is off.', {
      callbacks: withDefault(
        listOf(
          'Addresses that codes may be sent to, by origin and path; `/*` at the end stands for every path below.',
          Type.String({
            description: 'An https address, such as https://app.example/back.',
            scalar: 'callback',
            maxLength: 2048,
            expected: 'an https address without query, such as https://app.example/back',
          }),
        ),
        [],
      ),
      loopback: withDefault(
        flag("True: programs on the browser's own machine (`localhost`, `127.0.0.0/8`, `[::1]`) need not be named."),
        true,
      ),
      pkce: withDefault(oneOf('`required`: a proof by S256. `optional`: also `plain`, or none.', ['required', 'optional']), 'required'),
    }),
  ),
})
