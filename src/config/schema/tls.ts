/** TLS of a listener: its certificate, and those of its clients. */

import { Type } from 'typebox'
import { atStart, choiceField, closed, withDefault } from '../fields/scalars.ts'

/** Names as Node has them (`minVersion` of node:tls). */
export const TLS_VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const

const PEM = '^[^\\0]{1,262144}$'

const path = (description: string) =>
  Type.String({
    description,
    pattern: '^(?!-----BEGIN)[^\\0\\n]{1,4096}$',
    expected: 'the path of a file, relative to that of the configuration',
  })

export const tls = closed(
  'TLS. If unset: plain HTTP. Files are read anew when they change and on SIGHUP; a pair that cannot be used leaves the old one in use.',
  {
    cert: Type.String({
      description:
        'Certificate as PEM, with those of its chain behind it: the path of a file, relative to that of the configuration, or the text itself by a reference to a secret.',
      pattern: PEM,
      expected: 'the path of a file, or certificates as PEM',
    }),
    key: Type.String({
      description: 'Private key of the certificate as PEM, without a passphrase: a path or a text, as `cert`.',
      pattern: PEM,
      secret: true,
      expected: 'the path of a file, or a private key as PEM',
    }),
    min_version: atStart(withDefault(choiceField('Oldest version that is accepted.', TLS_VERSIONS), 'TLSv1.2')),
    client_ca: atStart(
      Type.Optional(path('File of the authorities, PEM, whose client certificates are accepted. If unset: none is requested.')),
    ),
    client_crl: atStart(
      Type.Optional(
        path(
          'File of revocation lists, PEM: one of each authority of `client_ca` and of those between. Needs `client_ca`. If unset: none is looked at.',
        ),
      ),
    ),
    client_certificates: atStart(
      withDefault(
        choiceField(
          '`required`: a connection without a certificate of `client_ca` fails. `optional`: clients may come without one; one that does not verify is refused. Of no effect without `client_ca`.',
          ['required', 'optional'],
        ),
        'required',
      ),
    ),
  },
)
