/** `credential: { url: ... }`: a token from a service, such as the token endpoint of OAuth 2.0. */
import { Type } from 'typebox'
import { url as address, asWritten, closed, mapField } from '../../../config/fields/scalars.ts'
import { identityAnswer } from '../identity-call.ts'
import { keyGrants, readToken } from '../token-response.ts'
import { credentialSource } from '../types.ts'

const value = (description: string) =>
  Type.String({ description, pattern: '^[\\x20-\\x7e]{0,4096}$', secret: true, expected: 'visible ASCII text' })

const settings = asWritten(
  closed('A service that gives the token. Redirects are not followed.', {
    address: address('Address, without a query.'),
    query: Type.Optional(mapField('Query of the address.', '^[A-Za-z0-9._-]{1,64}$', 'a name', value('A value.'))),
    headers: Type.Optional(
      mapField('Headers, such as `{ Metadata: "true" }`.', '^[A-Za-z0-9-]{1,64}$', 'a header name', value('A value.')),
    ),
    form: Type.Optional(
      mapField(
        'Fields of a form, which makes it a POST: those of a grant of OAuth 2.0, such as `grant_type: client_credentials`.',
        '^[A-Za-z0-9._-]{1,64}$',
        'a name',
        value('A value.'),
      ),
    ),
  }),
)

export const url = credentialSource({
  name: 'url',
  settings,
  describe: ({ address: at }) => `the service at ${at}`,
  open: ({ address: at, query, headers, form }, _env, connections) => {
    const target = new URL(at)
    for (const [name, text] of Object.entries(query ?? {})) target.searchParams.set(name, text)
    return keyGrants(async (signal, now) => {
      return readToken(await identityAnswer({ service: 'the service', url: target, headers, form, connections }, signal), now)
    })
  },
})
