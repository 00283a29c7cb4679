/**
 * `${google-secretmanager:projects/P/secrets/S/versions/V#FIELD}`: a version of a secret of Google Secret Manager, with application
 * default credentials; the newest one where the name has no version. Operation and fields: npm @google-cloud/secret-manager 7.2.0
 * (AccessSecretVersion of `google/cloud/secretmanager/v1/service.proto`).
 */
import { asString, isObject } from '../../core/json.ts'
import { googleGrants } from '../credentials/google/fetch.ts'
import { identityAnswer, jsonObject } from '../credentials/identity-call.ts'
import { CredentialError, type Grant } from '../credentials/types.ts'
import { MAX_REPLY_LENGTH, nameAndField, secretPart, withinTime } from './cloud.ts'
import { crc32c } from './crc32c.ts'
import type { SecretPlace, SecretSource } from './types.ts'

export const googleSecrets: SecretSource = {
  scheme: 'google-secretmanager',
  open: (place) => {
    const { env, clock } = place
    let grant: Promise<Grant> | undefined
    return async (reference) => {
      const { name, field } = nameAndField(reference)
      const url = secretAddress(name, place)
      const bytes = await withinTime(place, async (signal) => {
        grant ??= googleGrants({}, env)(signal, clock.now())
        return await payloadAt(url, await grant, signal, clock.now())
      })
      return secretPart(bytes.toString('utf8'), field)
    }
  },
}

const NAME =
  /^projects\/[a-z0-9.:-]{1,64}(?:\/locations\/([a-z0-9-]{1,40}))?\/secrets\/[A-Za-z0-9_-]{1,255}(\/versions\/[A-Za-z0-9_-]{1,63})?$/

/** Regional secrets are at the address of their region alone. gcloud has the variable for another address, with a slash at its end. */
function secretAddress(name: string, { env }: SecretPlace): URL {
  const [found, location, version] = NAME.exec(name) ?? []
  if (found === undefined) throw new Error('expected google-secretmanager:projects/PROJECT/secrets/SECRET, perhaps with /versions/VERSION')
  const host = location === undefined ? 'secretmanager.googleapis.com' : `secretmanager.${location}.rep.googleapis.com`
  const base = env.CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER || `https://${host}`
  const url = URL.parse(`${base.replace(/\/+$/, '')}/v1/${name}${version === undefined ? '/versions/latest' : ''}:access`)
  if (!url) throw new Error('CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER is no address')
  return url
}

async function payloadAt(url: URL, grant: Grant, signal: AbortSignal, now: number): Promise<Buffer> {
  const headers = grantHeaders(grant, url, now)
  const reply = jsonObject(await identityAnswer({ service: 'Google Secret Manager', url, headers, longest: MAX_REPLY_LENGTH }, signal))
  const { data, dataCrc32c: sum } = isObject(reply?.payload) ? reply.payload : {}
  const bytes = Buffer.from(asString(data) ?? '', 'base64')
  // A 64-bit number, which JSON has as a text.
  if (sum !== undefined && String(sum) !== String(crc32c(bytes))) throw new CredentialError('the secret came damaged: its checksum differs')
  return bytes
}

/** Headers of a call of a service of Google. @param now milliseconds since the epoch. */
export function grantHeaders(grant: Grant, url: URL, now: number): Record<string, string> {
  const pairs = grant.headers(
    { method: 'GET', origin: url.origin, path: url.pathname, body: '', keyHeader: (key) => ['authorization', key] },
    now,
  )
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < pairs.length; at += 2) headers[`${pairs[at]}`] = `${pairs[at + 1]}`
  return headers
}
