/** Listeners, brand, store and errors. */

import { Type } from 'typebox'
import { ERROR_CODES } from '../../core/error-codes.ts'
import {
  atStart,
  choiceField,
  closed,
  duration,
  flag,
  host,
  listField,
  memory,
  port,
  secret,
  size,
  span,
  url,
  usd,
  withDefault,
} from '../fields/scalars.ts'
import { tls } from './tls.ts'

const socketPath = (description: string) =>
  Type.String({
    description,
    minLength: 1,
    // sun_path of unix(7) holds 108 bytes with the final zero.
    maxLength: 100,
    expected: 'a path of at most 100 characters',
  })

const fileMode = (description: string) =>
  Type.String({ description, pattern: '^0?[0-7]{3}$', expected: 'rights as three octal digits in quotes, such as "0660"' })

export const server = closed('The public listener.', {
  host: atStart(withDefault(host('Address to listen on. `--host` wins.'), '127.0.0.1')),
  port: atStart(withDefault(port('Port to listen on; 0 for any free one. `--port` wins.'), 8080)),
  tls: Type.Optional(tls),
  socket: atStart(
    Type.Optional(
      socketPath(
        'Path of a unix socket that the API listens on beside the port, for sidecars on this machine. Plain HTTP; callers need a key as anywhere. All its callers count as one client address, `unix`.',
      ),
    ),
  ),
  socket_mode: atStart(withDefault(fileMode('Rights of `socket` in octal, in quotes: accounts that may write to it may connect.'), '0660')),
  public_url: Type.Optional(
    url(
      'Address under which callers reach the gateway, without `/v1`, such as `https://api.example.com`. If set: `docs_url` of errors is absolute, and requests in absolute form may name its host.',
    ),
  ),
  cors: Type.Optional(
    closed('Lets pages of other origins call the API from a browser. If unset: browsers refuse them.', {
      origins: listField(
        'Origins of the pages, such as `https://app.example.com`; `*` for any.',
        Type.String({
          description: 'An origin, or `*`.',
          // The serialised form of RFC 6454 §6.2, which browsers send.
          pattern: '^(\\*|[a-z][a-z0-9+.-]{0,30}://([a-z0-9._-]{1,253}|\\[[0-9a-f:.]{2,45}\\])(:[0-9]{1,5})?)$',
          expected: 'an origin such as https://app.example.com, or *',
        }),
        1,
      ),
    }),
  ),
  max_body: withDefault(size('Longest request body; longer ones get 413.'), '32MB'),
  body_memory: Type.Optional(
    memory(
      'Memory for the bodies of all requests in flight, 1MB to 1024GB. If unset: a quarter of the memory that the process may use (the limit of its cgroup where it has one, else that of the machine), at most 512MB.',
    ),
  ),
  overload: withDefault(
    closed('What a process does that gets more long bodies than it can work on.', {
      max_wait: withDefault(
        duration(
          'How long a body of more than 64 KB may wait for its turn, and any body for memory. Those that would wait longer are refused with 503: the newest of the key that has most there first.',
        ),
        '2s',
      ),
    }),
    {},
  ),
  max_headers: atStart(withDefault(size('Longest request head; longer ones get 431.'), '16KB')),
  json_depth: withDefault(Type.Integer({ description: 'Deepest nesting of a request body.', minimum: 8, maximum: 1000 }), 128),
  drain: withDefault(duration('How long open requests may go on after SIGTERM.'), '30s'),
  deadline: withDefault(duration('Time limit of a whole request; after it the reply is 408.'), '900s'),
  keep_alive: atStart(
    withDefault(
      duration('How long an idle client connection stays open. Set it higher than the idle timeout of a load balancer in front.'),
      '75s',
    ),
  ),
  header_timeout: atStart(withDefault(duration('Time for a client to send a request head.'), '10s')),
  body_timeout: atStart(
    withDefault(duration('After this time, a request body must have arrived at 16 KB per second or more on average, else 408.'), '60s'),
  ),
  trusted_proxies: atStart(
    withDefault(
      listField(
        'Addresses and networks of the proxies in front. For their connections the client address is the right-most entry of X-Forwarded-For that is not a trusted proxy, or the address of the PROXY header. Failed authentications count by client address.',
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
      flag(
        'True: connections from `trusted_proxies` begin with a PROXY header, version 1 or 2; other connections do not. Needs `trusted_proxies`.',
      ),
      false,
    ),
  ),
  auth_failures: atStart(
    withDefault(
      closed(
        'Failed authentications that each process allows per client address (IPv6: per /64 network). Further failures get 429 with Retry-After; valid keys from that address still work.',
        {
          burst: withDefault(Type.Integer({ description: 'Failures allowed at once.', minimum: 1, maximum: 1_000_000 }), 100),
          per_minute: withDefault(
            Type.Integer({ description: 'Failures allowed per minute after that.', minimum: 1, maximum: 1_000_000 }),
            60,
          ),
        },
      ),
      {},
    ),
  ),
  responses_websocket: withDefault(
    closed('Responses over WebSocket, under the paths of `POST /v1/responses`.', {
      enabled: withDefault(flag('False: a handshake gets 426, after which Codex uses HTTP.'), true),
      max_connections: withDefault(
        Type.Integer({
          description: 'WebSockets that each process holds at once, half of them of one key at most; further handshakes get 503.',
          minimum: 1,
          maximum: 1_000_000,
        }),
        4096,
      ),
    }),
    {},
  ),
  cost_header: withDefault(
    flag(
      'True: whole replies to generating requests have the USD that they were charged in the header `X-Router-Cost`. Streams have it in the usage of their last event.',
    ),
    false,
  ),
  silence: withDefault(
    duration('If the provider sends nothing for this long, the response headers are sent early, and a stream gets a keep-alive comment.'),
    '10s',
  ),
})

export const admin = closed("The operator's listener: health, readiness, metrics, the ledger, and the commands of the command line.", {
  host: atStart(withDefault(host('Address to listen on.'), '127.0.0.1')),
  port: atStart(withDefault(port('Port to listen on; 0 for any free one.'), 8081)),
  tls: Type.Optional(tls),
  hosts: atStart(
    Type.Optional(
      listField(
        'Further names under which the admin port is reached, without a port, such as that of a proxy in front of the control room. Requests whose `Host` is another name with a dot are refused with 403, so that no web page can have a browser read the port (DNS rebinding). Accepted without this list: addresses, names without a dot, `localhost`, `host` and the host of `server.public_url`; any name for `/healthz` and `/readyz`.',
        host('A name.'),
      ),
    ),
  ),
  token: atStart(
    Type.Optional(
      secret(
        'Bearer token for everything but health and metrics, 16 characters or more; set it by an environment variable. If unset: each start writes a new token to `<store file>.admin-token` (with PostgreSQL `<store.journal>.admin-token`), mode 0600, where the command line, run by the same user, reads it.',
        16,
      ),
    ),
  ),
  socket: atStart(
    Type.Optional(
      socketPath(
        'Path of a unix socket that serves everything without a token: who may write to it is the operator. Without `token`, TCP then serves health and metrics only, and no token file is written.',
      ),
    ),
  ),
  socket_mode: atStart(withDefault(fileMode('Rights of `socket` in octal, in quotes.'), '0600')),
  health_port: atStart(
    Type.Optional(port('A further port, on `server.host`, that serves `/healthz` and `/readyz` alone; 0 for any free one.')),
  ),
})

export const brand = closed('The word that replaces `router` in names that callers see.', {
  word: withDefault(
    Type.String({
      description: 'Used in names such as `router_metadata`, `X-Router-Metadata` and `router:datetime`.',
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
          '`sqlite:` and a path relative to the working directory; `postgres://…` for several machines, over TLS unless the host is this machine or the address has `sslmode=disable`; or `memory:`, which keeps nothing after the process ends.',
        pattern: '^(sqlite:.+|memory:|postgres(ql)?://.+)$',
        expected: 'sqlite: and a path, a postgres:// address, or memory:',
        secret: true,
      }),
      'sqlite:./data/headgate.db',
    ),
  ),
  durability: atStart(
    withDefault(
      choiceField('`process`: commits survive `kill -9`. `power`: every commit also waits for an fsync, to survive a power failure.', [
        'process',
        'power',
      ]),
      'process',
    ),
  ),
  journal: atStart(
    withDefault(
      Type.String({
        description:
          'With PostgreSQL: the local file for rows that a process has not forwarded yet. Each process adds its number to the name.',
        minLength: 1,
        expected: 'a path',
      }),
      './data/journal.db',
    ),
  ),
  retention: atStart(
    Type.Optional(
      span('Generations older than this, such as `90d`, are removed; at least 32 days. Their sums stay. If unset: none are removed.'),
    ),
  ),
  export_grace: atStart(
    withDefault(
      span(
        'Generations that one of `exports` has not delivered are kept for so much longer than `retention`, and are then removed all the same.',
      ),
      '7d',
    ),
  ),
  files: withDefault(
    closed('Files that callers upload to /v1/files.', {
      path: atStart(
        Type.Optional(
          Type.String({
            description: 'Directory of the files. If unset: `files` beside the SQLite file, or beside the journal.',
            minLength: 1,
            expected: 'a path',
          }),
        ),
      ),
      max_file: atStart(withDefault(size('Largest size of a file.'), '100MB')),
      max_bytes: atStart(withDefault(size('Total size of the files of one key and of the keys that it issued.'), '1GB')),
    }),
    {},
  ),
  lost_grace: atStart(
    withDefault(
      span('With PostgreSQL: how long the credit that a lost process had leased counts as spent before others may use it.'),
      '24h',
    ),
  ),
})

export const healthChecks = closed(
  "Requests of the gateway's own. They are sent only where requests of one key fail at an endpoint and nothing says that others would.",
  {
    kind: withDefault(
      choiceField(
        "`list`: the provider's list of models, which costs nothing and finds servers that hang or cannot be reached. `request`: a generation of at most 16 tokens, which decides for all keys, and is charged to the key `health checks`. `off`: none.",
        ['list', 'request', 'off'],
      ),
      'list',
    ),
    every: withDefault(duration('Least time between two checks of one provider (`list`) or endpoint (`request`).'), '60s'),
    limit: withDefault(usd('USD that checks of the kind `request` may cost in a UTC day.'), '0.10'),
  },
)

export const compaction = closed('Keys of compaction items.', {
  key: atStart(
    Type.Optional(
      secret(
        'Encrypts the keys of compaction items in the store; 32 random characters or more, set by an environment variable. If unset: they stand there as plain text.',
        32,
      ),
    ),
  ),
  former_keys: atStart(
    withDefault(
      listField('Former values of `key`: what they encrypted is read, and encrypted with `key`.', secret('A former value.', 32)),
      [],
    ),
  ),
})

export const byok = closed('Keys of providers that teams bring.', {
  encryption_keys: atStart(
    withDefault(
      listField(
        'Keys that encrypt them in the store. The first one encrypts, all of them decrypt; after a change `headgate byok rotate` encrypts all with the first. If unset: none can be stored.',
        Type.String({
          description:
            '32 random bytes in base64, set by an environment variable or another reference, such as one that a key of a cloud opens.',
          pattern: '^[A-Za-z0-9+/]{43}=$',
          secret: true,
          expected: '32 random bytes in base64, such as those of openssl rand -base64 32',
        }),
      ),
      [],
    ),
  ),
  fee: atStart(
    withDefault(
      Type.Number({
        description: 'Share of what a request would have cost that is charged for one which a key of a team pays for, 0 to 1.',
        minimum: 0,
        maximum: 1,
        expected: 'a number from 0 to 1',
      }),
      0,
    ),
  ),
  operator_fallback: atStart(
    withDefault(
      flag(
        "False: a request for which a key of a team comes first is never sent with the gateway's own keys. True: these are tried after it, and their use is charged in full.",
      ),
      true,
    ),
  ),
})

export const shared = closed('A Redis that several processes share.', {
  url: atStart(
    Type.Optional(
      Type.String({
        description:
          'Address of the Redis: `rediss://…`, or `redis://…` on this machine. Through it, all processes share rate limits, sticky sessions and ejections.',
        pattern: '^rediss?://.+$',
        expected: 'a redis:// or rediss:// address',
        secret: true,
      }),
    ),
  ),
  tls: withDefault(
    choiceField('`off` allows `redis://` to another machine. Passwords, counts and messages then cross the network in plain text.', [
      'required',
      'off',
    ]),
    'required',
  ),
})

export const errorCode = (what: string) =>
  choiceField(
    `What \`error.code\` is in replies of OpenAI's formats: the HTTP status, a name such as \`rate_limit_exceeded\`, or, with \`auto\`, a name for clients that are known to need one. ${what}`,
    ERROR_CODES,
  )

export const errors = closed('Error replies.', {
  code: withDefault(errorCode('A request may name another form in `X-Router-Error-Code`.'), 'auto'),
})
