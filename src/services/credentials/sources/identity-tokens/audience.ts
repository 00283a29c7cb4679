/** The setting of clouds that make a token for any service. */
import { Type } from 'typebox'

export const audienceField = () =>
  Type.Optional(
    Type.String({
      description: 'Audience of the token, as the provider expects it. If unset: the address of its API.',
      pattern: '^[\\x21-\\x7e]{1,1000}$',
      expected: 'an audience without spaces',
    }),
  )
