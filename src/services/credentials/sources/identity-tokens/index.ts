/** The one list of sources of identity tokens: a new one is its file here and its line. */
import { type TSchema, Type } from 'typebox'
import { closed } from '../../../../config/fields/scalars.ts'
import { isObject, type Json } from '../../../../core/json.ts'
import { command, commandSettings, commandTokens } from '../command.ts'
import { file, fileSettings, fileTokens } from '../file.ts'
import { awsIdentity } from './aws.ts'
import { azureIdentity } from './azure.ts'
import { googleIdentity } from './google.ts'
import { type IdentityTokenSource, identityTokenSource } from './types.ts'

const fileIdentity = identityTokenSource({
  ...file,
  settings: {
    ...fileSettings,
    description:
      'Absolute path of a file with the token, which something else keeps up to date, such as a projected service-account token of Kubernetes. It is read for each exchange.',
  },
  open: (path) => fileTokens(path),
})

const commandIdentity = identityTokenSource({ ...command, settings: commandSettings, open: (words, { env }) => commandTokens(words, env) })

export const SUBJECT_TOKEN_SOURCES: readonly IdentityTokenSource[] = [
  awsIdentity,
  azureIdentity,
  commandIdentity,
  fileIdentity,
  googleIdentity,
]

const properties: Record<string, TSchema> = Object.fromEntries(
  SUBJECT_TOKEN_SOURCES.map(({ name, settings }) => [name, Type.Optional(settings)]),
)

export const identityTokenField = closed(
  'The token of another issuer that says who this gateway is: one source, named by its key here.',
  properties,
)

/** The source that settings name, and its own. */
export function identityTokenIn(written: Json): { source: IdentityTokenSource; settings: Json } | undefined {
  const [name, settings] = isObject(written) ? (Object.entries(written)[0] ?? []) : []
  const source = SUBJECT_TOKEN_SOURCES.find((each) => each.name === name)
  return source && settings !== undefined ? { source, settings } : undefined
}
