/** The one list of sources of credentials: a new one is its file here and its line. */
import type { Cloud } from '../machine.ts'
import type { CredentialSettings } from '../settings.ts'
import type { CredentialSource, Environment } from '../types.ts'
import { anthropic } from './anthropic.ts'
import { aws } from './aws.ts'
import { azure } from './azure.ts'
import { command } from './command.ts'
import { file } from './file.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { url } from './url.ts'

export const CREDENTIAL_SOURCES: readonly CredentialSource[] = [anthropic, aws, azure, command, file, google, openai, url]

/** Source of a credential, in words. */
export function describeCredential(source: string, settings: unknown, env: Environment): string {
  return CREDENTIAL_SOURCES.find(({ name }) => name === source)?.describe(settings, env) ?? source
}

/** True where calls may carry a key of the provider in place of the credential. */
export function takesKeys({ source, keys }: CredentialSettings): boolean {
  return keys !== undefined || CREDENTIAL_SOURCES.find(({ name }) => name === source)?.takesKeys === true
}

/** The variable or file that a credential lacks on this machine, in words; undefined where none is seen to be missing. */
export function credentialProblem(source: string, settings: unknown, env: Environment, cloud: Cloud | undefined): string | undefined {
  return CREDENTIAL_SOURCES.find(({ name }) => name === source)?.problem?.(settings, env, (own) => own === cloud)
}
