/**
 * Sources of keys in the standard chain of AWS, in the order of `@aws-sdk/credential-provider-node` 3.972.98 (dist-es/defaultProvider.js,
 * remoteProvider.js).
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isReadable, readableText } from '../../../core/local-files.ts'
import type { Environment } from '../types.ts'
import type { AwsSettings } from './chain.ts'

/** For `headgate check`. */
export function describeAws({ region, profile, role }: AwsSettings, env: Environment): string {
  const chain = profile === undefined ? chainLink(env) : `profile ${profile} of the shared files`
  return `aws in ${region}: ${role === undefined ? chain : `role ${role}, assumed with ${chain}`}`
}

/** The link of the chain that comes first with these variables. */
function chainLink(env: Environment): string {
  if (env.AWS_PROFILE) return `profile ${env.AWS_PROFILE} of the shared files (AWS_PROFILE)`
  if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY) return 'AWS_ACCESS_KEY_ID of the environment'
  const then = laterLink(env)
  return `profile default of the shared files, or else ${then}`
}

function laterLink(env: Environment): string {
  if (env.AWS_WEB_IDENTITY_TOKEN_FILE && env.AWS_ROLE_ARN) return `the web identity token for ${env.AWS_ROLE_ARN}`
  if (hasContainer(env)) return 'the metadata of the container'
  if (isMetadataOff(env)) return 'none: the metadata of the instance is switched off'
  return 'the metadata of the instance'
}

const hasContainer = (env: Environment): boolean =>
  Boolean(env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI)

const isMetadataOff = (env: Environment): boolean => Boolean(env.AWS_EC2_METADATA_DISABLED && env.AWS_EC2_METADATA_DISABLED !== 'false')

/** AWS's own SDK takes a key of Bedrock from its variable; here it is a key like that of any provider. */
const remedy = (env: Environment): string =>
  env.AWS_BEARER_TOKEN_BEDROCK
    ? `key: "\${AWS_BEARER_TOKEN_BEDROCK}" in the place of the credential`
    : 'AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_PROFILE'

/** @returns why no link of the chain has keys here, as far as that is seen without a call. */
export function awsProblem({ profile: own }: Pick<AwsSettings, 'profile'>, env: Environment, isOwnMachine: boolean): string | undefined {
  const profile = own ?? (env.AWS_PROFILE || undefined)
  if (profile !== undefined) {
    const names = sharedFiles(env).map(({ file }) => file)
    return hasKeys(profile, env) ? undefined : `no keys of the profile ${profile} stand in ${names.join(' or ')}`
  }
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: role } = env
  if (id && secret) return undefined
  if (id || secret)
    return id ? 'expected AWS_SECRET_ACCESS_KEY beside AWS_ACCESS_KEY_ID' : 'expected AWS_ACCESS_KEY_ID beside AWS_SECRET_ACCESS_KEY'
  if (hasKeys('default', env)) return undefined
  if (token && !role) return 'expected AWS_ROLE_ARN beside AWS_WEB_IDENTITY_TOKEN_FILE'
  if (token) return isReadable(token) ? undefined : `the file ${token} cannot be read (AWS_WEB_IDENTITY_TOKEN_FILE)`
  if (hasContainer(env)) return undefined
  if (isMetadataOff(env)) return `nothing has keys, and AWS_EC2_METADATA_DISABLED is set, expected ${remedy(env)}`
  if (isOwnMachine || env.AWS_EC2_METADATA_SERVICE_ENDPOINT) return undefined
  return `nothing has keys, and this machine is no EC2 instance, expected ${remedy(env)}`
}

/** Members of a profile that lead to keys (`@aws-sdk/credential-provider-ini`, dist-es/resolveProfileData.js). */
const SOURCES = /^(?:aws_access_key_id|credential_process|role_arn|sso_\w+|login_session|web_identity_token_file)$/

const hasKeys = (profile: string, env: Environment): boolean =>
  sharedFiles(env).some(({ file, heading }) => profileMembers(readableText(file), heading(profile)).some((name) => SOURCES.test(name)))

/** Paths and headings of `@smithy/core` 3.41.1, submodules/config/shared-ini-file-loader. */
function sharedFiles(env: Environment): { file: string; heading: (profile: string) => string }[] {
  const folder = join(env.HOME || env.USERPROFILE || homedir(), '.aws')
  return [
    { file: env.AWS_SHARED_CREDENTIALS_FILE || join(folder, 'credentials'), heading: (profile) => profile },
    { file: env.AWS_CONFIG_FILE || join(folder, 'config'), heading: (profile) => (profile === 'default' ? profile : `profile ${profile}`) },
  ]
}

/** Names of what stands under a heading. */
function profileMembers(text: string, wanted: string): string[] {
  let isWanted = false
  const names: string[] = []
  for (const line of text.split('\n')) {
    const [, heading] = /^\s*\[([^\]]*)\]/.exec(line) ?? []
    if (heading !== undefined) isWanted = heading.trim().replaceAll(/\s+/g, ' ').replaceAll(/["']/g, '') === wanted
    else if (isWanted) names.push((line.split('=')[0] ?? '').trim())
  }
  return names
}
