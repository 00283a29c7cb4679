/** The one list of sources of credentials: a new one is its file here and its line. */
import type { CredentialSource } from '../types.ts'
import { aws } from './aws.ts'
import { azure } from './azure.ts'
import { command } from './command.ts'
import { file } from './file.ts'
import { google } from './google.ts'
import { url } from './url.ts'

export const CREDENTIAL_SOURCES: readonly CredentialSource[] = [aws, azure, command, file, google, url]

/** Source of a credential, in words. */
export function describeCredential(source: string, settings: unknown, env: Readonly<Record<string, string | undefined>>): string {
  return CREDENTIAL_SOURCES.find(({ name }) => name === source)?.describe(settings, env) ?? source
}
