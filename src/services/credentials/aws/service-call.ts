/** Signed calls of services of AWS that the gateway uses itself. */
import type { ServiceConnections } from '../../connections/service-connections.ts'
import { identityAnswer } from '../identity-call.ts'
import { CredentialError, type Environment } from '../types.ts'
import { type AwsKeys, Sigv4Signer } from './sigv4.ts'

export interface AwsService {
  /** For people. */
  readonly title: string
  /** As signatures and host names have it. */
  readonly service: string
  /** As the SDK names the variable of its address. */
  readonly variable: string
}

export const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/

/**
 * Address of a service, in the order of the SDK (npm @smithy/core 3.41.1, submodules/endpoints); addresses in the shared files are not read.
 * @throws CredentialError naming the variable that holds none.
 */
export function awsEndpoint(region: string, { service, variable }: Omit<AwsService, 'title'>, env: Environment): string {
  const stated = env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true' ? undefined : env[variable] || env.AWS_ENDPOINT_URL
  if (!stated) return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`
  const url = URL.parse(stated)
  if (!url) throw new CredentialError(`${env[variable] ? variable : 'AWS_ENDPOINT_URL'} is no address`)
  return url.href
}

interface AwsCall {
  readonly service: AwsService
  readonly region: string
  readonly url: string
  readonly keys: AwsKeys
  /** Those of the protocol. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly connections?: ServiceConnections | undefined
  readonly longest?: number | undefined
}

/** The body of a reply with status 200. @param now milliseconds since the epoch. */
export async function awsAnswer(call: AwsCall, signal: AbortSignal, now: number): Promise<string> {
  const { service, region, url, keys, headers: own, body, connections, longest } = call
  const { origin, pathname } = new URL(url)
  const signed = new Sigv4Signer(keys, { region, service: service.service }).headers(
    { method: 'POST', origin, path: pathname, body, headers: Object.entries(own).flat() },
    now,
  )
  const headers: Record<string, string> = { ...own }
  for (let at = 0; at + 1 < signed.length; at += 2) headers[`${signed[at]}`] = `${signed[at + 1]}`
  return await identityAnswer({ service: service.title, url, headers, body, connections, longest }, signal)
}
