/** Exports of generations. */
import { Type } from 'typebox'
import { choiceField, closed, duration, entryName, flag, line, listField, secret, time, url, withDefault } from '../fields/scalars.ts'

const WORD = '^[A-Za-z_][A-Za-z0-9_]{0,127}$'

const file = closed('Writes files to a folder of this machine.', {
  path: line('Folder, relative to the working directory; made where it is missing.', 1024),
})

const s3 = closed('Puts objects to S3, or to a service that speaks it.', {
  bucket: Type.String({ description: 'Bucket.', pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', expected: 'the name of a bucket' }),
  region: Type.String({
    description: 'Region, part of every signature. Services beside AWS mostly take `us-east-1`.',
    pattern: '^[a-z0-9-]{2,32}$',
    expected: 'a region such as us-east-1',
  }),
  endpoint: Type.Optional(url('Address of a service beside AWS, such as `http://minio:9000`. If unset: that of AWS in `region`.')),
  path_style: Type.Optional(
    flag('True: the bucket stands in the path, and not before the host. If unset: true with an `endpoint`, else false.'),
  ),
  prefix: Type.Optional(
    Type.String({
      description: 'Text before the name of every object, such as `headgate/`. If unset: none.',
      pattern: "^[A-Za-z0-9!_.*'()=-][A-Za-z0-9!_.*'()=/-]{0,255}$",
      expected: 'a prefix such as headgate/',
    }),
  ),
  access_key_id: Type.Optional(secret('Id of a key, with `secret_access_key`. Without both: the standard chain of AWS.', 2)),
  secret_access_key: Type.Optional(secret('Secret of the key.', 2)),
  profile: Type.Optional(line('Profile of the shared files of AWS, for the chain.', 256)),
  role: Type.Optional(
    Type.String({
      description: 'ARN of a role that is assumed with the keys of the chain.',
      pattern: '^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\\w+=,.@/-]{1,512}$',
      expected: 'the ARN of a role such as arn:aws:iam::123456789012:role/headgate',
    }),
  ),
  external_id: Type.Optional(secret('External id that the trust policy of the role requires.', 2)),
})

const clickhouse = closed('Inserts rows into a table of ClickHouse over HTTP.', {
  url: url('Address of the HTTP interface, such as `http://clickhouse:8123`.'),
  database: withDefault(Type.String({ description: 'Database.', pattern: WORD, expected: 'a name' }), 'default'),
  table: withDefault(
    Type.String({ description: 'Table; see [exports.md](exports.md#clickhouse).', pattern: WORD, expected: 'a name' }),
    'generations',
  ),
  user: Type.Optional(line('User. If unset: none is sent.', 128)),
  password: Type.Optional(secret('Password of the user.')),
})

const entry = closed('One export, to exactly one of `file`, `s3` and `clickhouse`.', {
  name: entryName('Its position is kept in the store under this name: an export of another name begins anew.'),
  file: Type.Optional(file),
  s3: Type.Optional(s3),
  clickhouse: Type.Optional(clickhouse),
  path: withDefault(
    Type.String({
      description:
        'Name of a file or object, without its ending. `{batch}` has to be in it; `{name}`, `{year}`, `{month}`, `{day}` and `{hour}` (UTC) may be: of the moment at which the batch was begun.',
      pattern:
        "^(?:[A-Za-z0-9!_.*'()=-]|\\{(?:name|year|month|day|hour|batch)\\})(?:[A-Za-z0-9!_.*'()=/-]|\\{(?:name|year|month|day|hour|batch)\\}){0,511}$",
      expected: 'a name such as {year}/{month}/{day}/{hour}/{batch}',
    }),
    'generations/{year}/{month}/{day}/{hour}/{name}-{batch}',
  ),
  compression: withDefault(choiceField('Of files, objects and bodies.', ['none', 'gzip']), 'gzip'),
  rows: withDefault(Type.Integer({ description: 'Generations of a batch at most.', minimum: 1, maximum: 100_000 }), 5_000),
  interval: withDefault(duration('Time between two batches where less than a full one waits.'), '60s'),
  timeout: withDefault(duration('Time limit of one delivery.'), '60s'),
  since: Type.Optional(time('A new export begins with the generations that were admitted then. If unset: with all that the store has.')),
})

export const exportList = listField(
  'Exports of the generations, as `GET /v1/generation` shows them, in batches, at least once; see [exports.md](exports.md).',
  entry,
)
