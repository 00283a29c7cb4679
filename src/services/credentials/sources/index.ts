/** The one list of sources of credentials: a new one is its file here and its line. */
import type { Cloud } from '../machine.ts'
import type { CredentialSource, Environment } from '../types.ts'
import { aws } from './aws.ts'
import { azure } from './azure.ts'
import { command } from './command.ts'
import { file } from './file.ts'
import { google } from './google.ts'
import { url } from './url.ts'

export const CREDENTIAL_SOURCES: readonly CredentialSource[] = [aws, azure, command, file, google, url]

/** Source of a credential, in words. */
export function describeCredential(source: string, settings: unknown, env: Environment): string {
  return CREDENTIAL_SOURCES.find(({ name }) => name === source)?.describe(settings, env) ?? source
}

/** The variable or file that a credential lacks on this machine, in words; undefined where none is seen to be missing. */
export function credentialProblem(source: string, settings: unknown, env: Environment, cloud: Cloud | undefined): string | undefined {
  const found = CREDENTIAL_SOURCES.find(({ name }) => name === source)
  return found?.problem?.(settings, env, cloud !== undefined && found.cloud === cloud)
}
