/**
 * `${azure-keyvault-key:KEY#TEXT}`: a secret that an RSA key of Azure Key Vault, or of a managed HSM, has wrapped. Operations, fields and
 * version of the API: npm @azure/keyvault-keys 4.10.2 (wrapKey, unwrapKey). The SDK learns from a first, refused call which scope it needs;
 * here the address says so.
 */
import { azureTokens } from '../credentials/azure/fetch.ts'
import { identityAnswer, jsonObject } from '../credentials/identity-call.ts'
import { CredentialError, type ReadToken } from '../credentials/types.ts'
import type { KeyService } from './wrapped.ts'

/** OAEP with SHA-256 (RFC 8017, 7.1): 2048 bits take 190 bytes. */
const ALGORITHM = 'RSA-OAEP-256'
const VERSION = '2025-07-01'
/** Hosts of the clouds (learn.microsoft.com/azure/key-vault/general/about-keys-secrets-certificates), and of an emulator on this machine. */
const KEY =
  /^(?:https:\/\/[a-z0-9-]{3,24}\.((?:vault|managedhsm)\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))|http:\/\/127\.0\.0\.1:[0-9]{1,5})\/keys\/[A-Za-z0-9-]{1,127}(\/[a-z0-9]{1,64})?$/

export const azureKeys: KeyService = {
  scheme: 'azure-keyvault-key',
  open: ({ env, clock }) => {
    const tokens = new Map<string, Promise<ReadToken>>()
    const call = async (operation: string, key: string, bytes: Buffer, signal: AbortSignal): Promise<{ key: string; bytes: Buffer }> => {
      const [found, service = 'vault.azure.net', version] = KEY.exec(key) ?? []
      if (found === undefined) throw new CredentialError('expected a key as https://VAULT.vault.azure.net/keys/NAME/VERSION')
      if (version === undefined && operation === 'unwrapkey') throw new CredentialError('the version of the key is missing')
      const known = tokens.get(service) ?? azureTokens({ scope: `https://${service}/.default` }, env)(signal, clock.now())
      tokens.set(service, known)
      const url = new URL(`${key}/${operation}`)
      url.searchParams.set('api-version', VERSION)
      const headers = { authorization: `Bearer ${(await known).token}` }
      const json = { alg: ALGORITHM, value: bytes.toString('base64url') }
      const { kid, value } = jsonObject(await identityAnswer({ service: 'Azure Key Vault', url, headers, json }, signal)) ?? {}
      if (typeof value !== 'string' || value === '') throw new CredentialError('the answer of Azure Key Vault holds no text')
      return { key: typeof kid === 'string' ? kid : key, bytes: Buffer.from(value, 'base64url') }
    }
    return {
      decrypt: async (key, text, signal) => (await call('unwrapkey', key, text, signal)).bytes,
      encrypt: async (key, secret, signal) => {
        const wrapped = await call('wrapkey', key, secret, signal)
        if (!KEY.test(wrapped.key)) throw new CredentialError('the answer of Azure Key Vault names no key')
        return { key: wrapped.key, text: wrapped.bytes }
      },
    }
  },
}
