/** Connections to a provider. */
import { Type } from 'typebox'
import { closed, duration, withDefault } from '../fields/scalars.ts'

const pem = (description: string, options: { pattern: string; expected: string; secret?: boolean }) =>
  Type.String({ description, ...options })

const PEM = '^[\\x20-\\x7e\\s]{1,65536}$'

const tls = closed('TLS of connections to this provider, where its address begins with `https`.', {
  ca: Type.Optional(
    pem(
      'The only authorities that are trusted, as PEM, by a reference to a file; or `system` for those of the operating system. If unset: those of Node, with `NODE_EXTRA_CA_CERTS`.',
      { pattern: PEM, expected: 'certificates as PEM, or system' },
    ),
  ),
  certificate: Type.Optional(
    pem('Certificate that the gateway shows the provider, as PEM, with those of its authorities behind it.', {
      pattern: PEM,
      expected: 'certificates as PEM',
    }),
  ),
  key: Type.Optional(
    pem('Key of the certificate, as PEM without a password, by a reference to a secret.', {
      pattern: PEM,
      expected: 'a private key as PEM',
      secret: true,
    }),
  ),
})

export const connection = closed('How connections to the provider are made.', {
  proxy: Type.Optional(
    Type.String({
      description:
        'HTTP proxy that connections go through by `CONNECT`, such as `http://user:password@proxy.example:3128`; or `direct` for none. If unset: `HTTPS_PROXY`, or `HTTP_PROXY` for a plain address, unless `NO_PROXY` has the host. Loopback addresses are always called directly.',
      pattern: '^(?:direct|https?://[\\x21-\\x7e]{1,2000})$',
      secret: true,
      expected: 'an http or https URL with at most a user and a password, or direct',
    }),
  ),
  tls: Type.Optional(tls),
  max_age: withDefault(duration('A connection of this age takes no further request, so that a name that moves is followed.'), '5m'),
})
