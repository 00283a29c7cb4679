/** `credential: { google: {...} }`: access tokens of Google Cloud from application default credentials. */
import { Type } from 'typebox'
import { url as address, asWritten, closed, listField } from '../../../config/fields/scalars.ts'
import { describeGoogle, type GoogleSettings, googleProblem } from '../google/place.ts'
import { credentialSource } from '../types.ts'

const account = (description: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9._-]{1,128}@[A-Za-z0-9.-]{1,128}$', expected: 'the email of a service account' })

/** Settings of credentials of Google Cloud, of whatever they are for. */
export const googleFields = {
  file: Type.Optional(
    Type.String({
      description:
        'Absolute path of a credentials file: the key of a service account, workload identity federation, a sign-in of gcloud, or an impersonation.',
      pattern: '^/[^\\x00-\\x1f]{1,4095}$',
      expected: 'an absolute path',
    }),
  ),
  scopes: Type.Optional(
    listField(
      'Scopes of the token. If unset: `https://www.googleapis.com/auth/cloud-platform`.',
      Type.String({ description: 'A scope.', pattern: '^[\\x21-\\x7e]{1,256}$', expected: 'a scope without spaces' }),
      1,
    ),
  ),
  impersonate: Type.Optional(
    account('Email of a service account that the token is for; the credentials need the right to make its tokens.'),
  ),
  delegates: Type.Optional(listField('Service accounts between the credentials and `impersonate`, in order.', account('An account.'), 1)),
  iam_url: Type.Optional(
    address('Address of the service that makes tokens for `impersonate`. If unset: `https://iamcredentials.googleapis.com`.'),
  ),
  quota_project: Type.Optional(
    Type.String({
      description:
        'Project whose quota and bill the calls count for. If unset: `GOOGLE_CLOUD_QUOTA_PROJECT`, else the one that the file names, else that of the account.',
      pattern: '^[a-z0-9.:-]{1,64}$',
      expected: 'the id of a project',
    }),
  ),
}

const settings = asWritten(
  closed(
    'Application default credentials of Google Cloud: `file`, else `GOOGLE_APPLICATION_CREDENTIALS`, else the file of `gcloud auth application-default login`, else the metadata server of the machine.',
    googleFields,
  ),
)

export const google = credentialSource({
  name: 'google',
  settings,
  describe: (written, env) => describeGoogle(written as GoogleSettings, env),
  problem: (written, env, belongsTo) => googleProblem(written as GoogleSettings, env, belongsTo('google')),
  open: async (written, env, connections) => {
    const { googleGrants } = await import('../google/fetch.ts')
    return googleGrants(written as GoogleSettings, env, connections)
  },
})
