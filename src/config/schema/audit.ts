/** Settings of the audit log: the time for which its entries are kept, and the keys that sign them. */
import { Type } from 'typebox'
import { atStart, closed, flag, listField, secret, span, withDefault } from '../fields/scalars.ts'

/** Characters of a key: as many as the hash has bytes (RFC 2104, 3). */
const MIN_KEY_LENGTH = 32

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
  hold: withDefault(flag('True: no entry is removed, whatever `retention` says.'), false),
})
