/** Settings of the audit log: the time for which its entries are kept, the keys that sign them, and where they go. */
import { Type } from 'typebox'
import { SYSLOG_FACILITIES, type SyslogFacility } from '../../core/syslog-facilities.ts'
import {
  atStart,
  choiceField,
  closed,
  duration,
  entryName,
  flag,
  host,
  line,
  listField,
  port,
  secret,
  span,
  withDefault,
} from '../fields/scalars.ts'

/** Characters of a key: as many as the hash has bytes (RFC 2104, 3). */
const MIN_KEY_LENGTH = 32

const PEM = '^[\\x20-\\x7e\\s]{1,65536}$'

const file = closed('Appends JSON lines to a file of this machine, mode 0600. Rotate it by renaming; no signal is needed.', {
  path: line('File, relative to the working directory; its folder is made where it is missing.', 1024),
  fsync: withDefault(flag('True: a batch counts as taken when it is on the disk.'), true),
})

const tls = closed('TLS of the connection.', {
  ca: Type.Optional(
    Type.String({
      description:
        'The only authorities that are trusted, as PEM, by a reference to a file. If unset: those of Node, with `NODE_EXTRA_CA_CERTS`.',
      pattern: PEM,
      expected: 'certificates as PEM',
    }),
  ),
  certificate: Type.Optional(
    Type.String({ description: 'Certificate that the gateway shows, as PEM.', pattern: PEM, expected: 'certificates as PEM' }),
  ),
  key: Type.Optional(
    Type.String({
      description: 'Key of the certificate, as PEM without a password, by a reference to a secret.',
      pattern: PEM,
      expected: 'a private key as PEM',
      secret: true,
    }),
  ),
})

const FACILITIES = Object.keys(SYSLOG_FACILITIES) as SyslogFacility[]

const syslog = closed('Sends messages of syslog (RFC 5424), each an entry as JSON.', {
  protocol: withDefault(
    choiceField('`tls` (RFC 5425) and `tcp` (RFC 6587) frame messages by octet counting. `udp` (RFC 5426) loses what does not come.', [
      'tls',
      'tcp',
      'udp',
    ]),
    'tls',
  ),
  host: host('Receiver.'),
  port: Type.Optional(port('Port of the receiver. If unset: 6514 for `tls`, 601 for `tcp`, 514 for `udp`.')),
  facility: withDefault(
    choiceField('Facility of the messages (RFC 5424, 6.2.1); `audit` is 13. The severity is `notice`.', FACILITIES),
    'audit',
  ),
  app_name: withDefault(
    Type.String({ description: 'APP-NAME of the messages.', pattern: '^[!-~]{1,48}$', expected: 'a name of up to 48 ASCII characters' }),
    'headgate',
  ),
  tls: withDefault(tls, {}),
})

const sink = closed('One sink, to exactly one of `file` and `syslog`.', {
  name: entryName('Its position is kept in the store under this name: a sink of another name begins with the first entry.'),
  file: Type.Optional(file),
  syslog: Type.Optional(syslog),
  interval: withDefault(duration('Time between two batches where less than a full one (500 entries) waits.'), '5s'),
  timeout: withDefault(duration('Time limit of one batch.'), '30s'),
})

export const audit = closed('The log of changes; see [audit.md](audit.md).', {
  retention: Type.Optional(span('Time for which entries are kept, at least 32 days. If unset: for ever.')),
  key: atStart(
    Type.Optional(
      secret(
        'Signs each entry (HMAC-SHA-256), by a reference to a secret: an account that can write the database alone cannot compute the log anew. Make one with `openssl rand -hex 32`. If unset: entries have plain hashes.',
        MIN_KEY_LENGTH,
      ),
    ),
  ),
  former_keys: atStart(withDefault(listField('Keys that signed entries before `key` did.', secret('A key.', MIN_KEY_LENGTH)), [])),
  sinks: atStart(
    withDefault(
      listField('Where entries are delivered as well, in order, at least once; see [audit.md](audit.md#deliver-entries).', sink),
      [],
    ),
  ),
  hold: withDefault(flag('True: no entry is removed, whatever `retention` says.'), false),
})
