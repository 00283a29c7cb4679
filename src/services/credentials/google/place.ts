/** Sources of application default credentials of Google, in the order of google-auth-library 10.9.1 (auth/googleauth.js). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jsonObject } from '../identity-call.ts'
import type { Environment } from '../types.ts'

export interface GoogleSettings {
  readonly file?: string
  readonly scopes?: readonly string[]
  readonly impersonate?: string
  readonly delegates?: readonly string[]
  readonly iam_url?: string
  readonly quota_project?: string
}

/** A file, and what names it; or the metadata server of the machine. */
export type GooglePlace = { readonly file: string; readonly by: string } | { readonly metadata: string }

/** A file that is named but missing is an error, never a reason to look elsewhere. */
export function googlePlace({ file }: GoogleSettings, env: Environment): GooglePlace {
  if (file !== undefined) return { file, by: 'google.file' }
  if (env.GOOGLE_APPLICATION_CREDENTIALS) return { file: env.GOOGLE_APPLICATION_CREDENTIALS, by: 'GOOGLE_APPLICATION_CREDENTIALS' }
  const known = fileOfGcloud(env)
  if (known !== undefined && existsSync(known)) return { file: known, by: 'gcloud auth application-default login' }
  return { metadata: metadataServer(env) }
}

function fileOfGcloud({ CLOUDSDK_CONFIG: own, HOME: home }: Environment): string | undefined {
  const folder = own || (home && join(home, '.config', 'gcloud'))
  return folder ? join(folder, 'application_default_credentials.json') : undefined
}

/** Variables and address of gcp-metadata 8 (build/src/index.js, getBaseUrl). */
function metadataServer({ GCE_METADATA_IP: ip, GCE_METADATA_HOST: host }: Environment): string {
  const at = ip || host || '169.254.169.254'
  return /^https?:\/\//.test(at) ? at : `http://${at}`
}

/** @returns why there are no credentials here, as far as that is seen without a call. */
export function googleProblem(settings: GoogleSettings, env: Environment, isOwnMachine: boolean): string | undefined {
  const place = googlePlace(settings, env)
  if ('metadata' in place) {
    if (isOwnMachine || METADATA_VARIABLES.some((name) => env[name])) return undefined
    return 'nothing names a file, and this machine is none of Google Cloud, expected GOOGLE_APPLICATION_CREDENTIALS, or the file of gcloud auth application-default login'
  }
  const known = fileKind(place.file)
  if (known === undefined) return `the file ${place.file} cannot be read (${place.by})`
  return known === UNKNOWN ? `the file ${place.file} is none with credentials of Google (${place.by})` : undefined
}

/** Names of a metadata server, and of places that have one (npm gcp-metadata 8, build/src/gcp-residency.js). */
const METADATA_VARIABLES = ['GCE_METADATA_IP', 'GCE_METADATA_HOST', 'CLOUD_RUN_JOB', 'FUNCTION_NAME', 'K_SERVICE']

/** For `headgate check`. */
export function describeGoogle(settings: GoogleSettings, env: Environment): string {
  const place = googlePlace(settings, env)
  const account = settings.impersonate === undefined ? '' : `the service account ${settings.impersonate}, by `
  return account + ('metadata' in place ? `the metadata server at ${place.metadata}` : `${fileContent(place.file)} (${place.by})`)
}

const KINDS: Readonly<Record<string, string>> = {
  service_account: 'the key of a service account',
  authorized_user: 'the sign-in of a person',
  external_account: 'workload identity federation',
  impersonated_service_account: 'the impersonation of a service account',
}

const UNKNOWN = 'something unknown'

function fileContent(file: string): string {
  const kind = fileKind(file)
  return kind === undefined ? `the file ${file}, which cannot be read` : `${kind} in the file ${file}`
}

/** @returns undefined where the file cannot be read. */
function fileKind(file: string): string | undefined {
  try {
    const { type } = jsonObject(readFileSync(file, 'utf8')) ?? {}
    return (typeof type === 'string' && Object.hasOwn(KINDS, type) && KINDS[type]) || UNKNOWN
  } catch {
    return undefined
  }
}
