/** Look-up of keys by the digest of their secret. */
import type { ApiKey } from '../../../plugin-api/key.ts'

export interface KeyLookup {
  /** Those of the configuration, by the SHA-256 of the secret, hex: to be looked at before the store's. */
  readonly written: ReadonlyMap<string, ApiKey>
  /** The key of the store, if it is found without a call to another process. @param hash SHA-256 of the secret, hex. */
  atHand(hash: string): ApiKey | undefined
  /**
   * The key of the store.
   * @param hash SHA-256 of the secret, hex.
   * @param isSuspect true: of a caller who has sent many tokens of no key. Where look-ups wait, this one comes last.
   */
  find(hash: string, isSuspect?: boolean): ApiKey | undefined | Promise<ApiKey | undefined>
}
