/**
 * Secrets that a key management service has encrypted, `${SCHEME:KEY#TEXT}`: the text may stand in the configuration, since the service alone
 * opens it. It is opened once by each process, whose memory has it from then on.
 */
import { withinTime } from './cloud.ts'
import type { SecretPlace, SecretSource } from './types.ts'

/** One key management service. */
export interface KeyService {
  /** Word before the colon of a reference. */
  readonly scheme: string
  open(place: SecretPlace): KeyCalls
}

/** Calls with one identity. They throw where the service refuses, with words that hold nothing of a secret. */
export interface KeyCalls {
  /** @param key as a reference names it. */
  decrypt(key: string, text: Buffer, signal: AbortSignal): Promise<Buffer>
  /** @returns the text, and the key as references have to name it. */
  encrypt(key: string, secret: Buffer, signal: AbortSignal): Promise<{ key: string; text: Buffer }>
}

/** Bound to each text where the service can bind one: what was encrypted for other uses of the key does not open. */
export const BOUND_TO = 'headgate'

export function wrappedSecrets({ scheme, open }: KeyService): SecretSource {
  return {
    scheme,
    isFixed: true,
    open: (place) => {
      const calls = open(place)
      return async (reference) => {
        const at = reference.lastIndexOf('#')
        const [key, encoded] = [reference.slice(0, at), reference.slice(at + 1)]
        if (at < 1 || !BASE64.test(encoded)) throw new Error(`expected ${scheme}:KEY#TEXT, as headgate byok wrap-key writes it`)
        const secret = await withinTime(place, (signal) => calls.decrypt(key, Buffer.from(encoded, 'base64'), signal))
        if (!isText(secret)) throw new Error('what it encrypts is no text')
        return secret.toString('utf8')
      }
    },
  }
}

/** In either of its alphabets (RFC 4648, 4 and 5). */
const BASE64 = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/

const isText = (bytes: Buffer): boolean => Buffer.from(bytes.toString('utf8')).equals(bytes)

/** Encrypts a secret. @param key with the scheme of its service. @returns the reference that opens it. */
export async function wrapSecret(key: string, secret: string, services: readonly KeyService[], place: SecretPlace): Promise<string> {
  const colon = key.indexOf(':')
  const service = services.find(({ scheme }) => scheme === key.slice(0, colon))
  if (!service) throw new Error(`expected a key as ${services.map(({ scheme }) => `${scheme}:KEY`).join(', ')}`)
  const calls = service.open(place)
  const wrapped = await withinTime(place, (signal) => calls.encrypt(key.slice(colon + 1), Buffer.from(secret, 'utf8'), signal))
  return `\${${service.scheme}:${wrapped.key}#${wrapped.text.toString('base64url')}}`
}
