/** Interface of a method of authentication. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../../../config/config.ts'
import type { PlacedKeys } from '../../../ledger/placed-keys.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import type { ClientConnection } from '../../client-connection.ts'
import type { CertificateCallers } from './certificate-callers.ts'
import type { KeyLookup } from './key-lookup.ts'
import type { TokenCallers } from './token-callers.ts'

/** The sender of a request, as far as its head shows it. */
export interface Caller {
  readonly headers: IncomingHttpHeaders
  readonly connection: Pick<ClientConnection, 'address' | 'digest' | 'certificate' | 'isEncrypted'>
}

/** `undefined`: what the caller shows is of this method, and opens nothing. */
export type FoundKey = ApiKey | undefined

export interface AuthenticationMethod {
  /** True where the head, or the connection, shows something of this method: no other looks at it then. Absent in the last one, which takes every request. */
  shows?(caller: Caller): boolean
  /** The caller's key, if it is found without a call to another process. @throws Fault 400 and 401 where what it shows has no form. */
  atHand(caller: Caller): FoundKey
  /**
   * The caller's key.
   * @param isSuspect true of a caller that has shown much that opens nothing; called only where the look-up waits for another process.
   * @throws Fault as `atHand`; 503 where what knows the keys cannot be reached.
   */
  find(caller: Caller, isSuspect: (caller: Caller) => boolean): FoundKey | Promise<FoundKey>
  /** A key that it has found, as it is now; undefined where the method is another, or the key is gone. */
  renew(key: ApiKey): FoundKey | Promise<FoundKey>
}

/** Dependencies of the methods, once per configuration. */
export interface AuthenticationParts {
  readonly keys: KeyLookup
  /** Absent: no caller has a place. */
  readonly places?: Pick<PlacedKeys, 'of' | 'original' | 'tree'> | undefined
  readonly config: Config
  /** Absent where the configuration has no issuers, and where no network is called. */
  readonly tokens?: TokenCallers | undefined
  /** Absent where no certificate stands in the place of a key. */
  readonly certificates?: CertificateCallers | undefined
}
