/** The control room as the process with the admin listener has it. */
import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { DEVELOPMENT_KEY } from '../config/keys.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { AdminRoute } from '../server/admin-route.ts'
import type { ClientAddresses } from '../server/client-address.ts'
import { ControlRoom } from '../server/control-room/control-room.ts'
import type { SignInLink } from '../server/control-room/sign-in-link.ts'
import type { UntimedEntry } from '../store/audit-log.ts'
import type { AttributedKeys } from '../store/keys.ts'
import { IssuerPeople } from './issuer-people.ts'
import { programVersion } from './version.ts'

/** A new one for each start; it never leaves the processes of this gateway. */
export const operatorSecret = (): string => randomBytes(32).toString('base64url')

export interface ControlRoomSource {
  readonly clock: Clock
  /** As it stands now. */
  readonly config: () => Pick<Config, 'brand' | 'developmentKey' | 'issuers' | 'providers' | 'server'>
  /** Address of the public listener, once it listens. */
  readonly url: () => string | undefined
  /** Path of a unix socket on which that listener is reached, where its port speaks TLS. */
  readonly socketPath: string | undefined
  readonly addresses: ClientAddresses
  readonly store: () => AttributedKeys
  readonly routes: ReadonlyMap<string, AdminRoute>
  readonly token: string | undefined
  readonly operatorSecret: string
  readonly link: SignInLink | undefined
  readonly note: (entry: UntimedEntry) => void
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly onError: (error: unknown) => void
}

export function openControlRoom({ config, addresses, ...rest }: ControlRoomSource): ControlRoom {
  return new ControlRoom({
    ...rest,
    addresses,
    people: new IssuerPeople({ clock: rest.clock, log: rest.log, issuers: () => config().issuers }),
    brand: () => config().brand.word,
    version: programVersion(),
    // The page calls models of the simulated provider with it; the key is published, so that anybody on this machine may call more.
    developmentKey: () => {
      const { developmentKey, providers } = config()
      return developmentKey && providers.some(({ dialect }) => dialect === 'sim') ? DEVELOPMENT_KEY : undefined
    },
    sendsProxyHeader: () => config().server.proxyProtocol && addresses.isTrusted('127.0.0.1'),
  })
}
