/** `identity_token: { google: {...} }`: an id token of Google about a service account. */
import { closed } from '../../../../config/fields/scalars.ts'
import { describeGoogle, type GoogleSettings, googleProblem } from '../../google/place.ts'
import { googleFields } from '../google.ts'
import { audienceField } from './audience.ts'
import { identityTokenSource } from './types.ts'

const { file, impersonate, delegates, iam_url } = googleFields

const settings = closed(
  'An id token of Google about a service account: that of the machine or of a key file, else the one that `impersonate` names. Found as application default credentials are.',
  { file, impersonate, delegates, iam_url, audience: audienceField() },
)

export const googleIdentity = identityTokenSource({
  name: 'google',
  isIdToken: true,
  settings,
  describe: (written, env) => `an id token of Google from ${describeGoogle(written as GoogleSettings, env)}`,
  problem: (written, env, belongsTo) => googleProblem(written as GoogleSettings, env, belongsTo('google')),
  open: async (written, { env, connections, audience }) => {
    const { googleIdTokens } = await import('../../google/fetch.ts')
    return googleIdTokens({ audience, ...(written as GoogleSettings) }, env, connections)
  },
})
