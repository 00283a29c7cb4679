/** Authenticates a request: finds the key of its caller by the head alone. */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isManager, requireRole } from '../../core/roles.ts'
import { RefusedToken, tokenRefusal } from '../../core/token-refusals.ts'
import type { ApiKey, PreviousSecret } from '../../plugin-api/key.ts'
import type { KEY_REASONS } from '../../store/refusals.ts'
import type { Authenticated, Received } from '../exchange.ts'
import type { Layer, Reply } from '../layer.ts'
import type { Attempts } from './attempt-buckets.ts'
import type { Callers } from './authentication/index.ts'
import type { Caller } from './authentication/method.ts'

/**
 * A key that is known and cannot be used: its caller reads what one with an unknown key does, the operator reads why. The holder of a
 * secret that was replaced reads when: it has shown that it had the key.
 */
export class UnusableKey extends Fault {
  readonly key: ApiKey
  readonly why: (typeof KEY_REASONS)[number]

  constructor(key: ApiKey) {
    const rotated = key.disabled ? undefined : endedSecret(key)
    super('invalid_key', key.token && !key.disabled ? endedRefusal(key.token) : rotated ? { message: rotatedText(rotated) } : {})
    this.key = key
    this.why = key.disabled ? 'key_disabled' : rotated ? 'key_rotated' : 'key_expired'
  }
}

/** The secret that the caller has shown, if a rotation rather than the end of the key has ended it. */
function endedSecret({ shown, previous, expiresAt }: ApiKey): PreviousSecret | undefined {
  return shown !== undefined && previous?.until === expiresAt ? previous : undefined
}

function rotatedText({ rotatedAt, until }: PreviousSecret): string {
  const [rotated, ended] = [rotatedAt, until].map((at) => new Date(at).toISOString())
  return `This secret was replaced by a rotation of its key at ${rotated}, and ended at ${ended}: send the new one`
}

const endedRefusal = ({ isCertificate }: NonNullable<ApiKey['token']>): { message: string; headers?: Record<string, string> } =>
  isCertificate === true ? { message: 'The client certificate has ended' } : tokenRefusal('token_expired')

/** @throws Fault 401 for a key that is unknown, disabled or expired: the text is the same, so that none can be probed; 403 naming the level that is disabled or gone. */
export function usableKey(key: ApiKey | undefined, clock: Pick<Clock, 'now'>): ApiKey {
  if (!key) throw new Fault('invalid_key')
  if (key.disabled || (key.expiresAt !== null && key.expiresAt <= clock.now())) throw new UnusableKey(key)
  const refusal = key.levels?.refusal
  if (refusal !== undefined) throw new Fault('forbidden', { message: refusal })
  return key
}

const TOO_MANY = 'Too many requests with keys that cannot be used came from this address'

export interface Authentication {
  readonly callers: Callers
  readonly clock: Pick<Clock, 'now'>
  readonly failures: Attempts
}

/**
 * Makes the function that finds the key of a request by its head.
 * Failures empty the bucket of the caller's address. While it is empty, look-ups for that address come after those of all others and a
 * failure is a 429; a good key still works, so that callers who share an address with a stranger, behind a balancer or a NAT, are not
 * locked out.
 * @throws Fault 400 and 401 as its method and `usableKey`; 429 with Retry-After; 503 where the store cannot be reached.
 */
export function authenticator({ callers, clock, failures }: Authentication): (caller: Caller) => ApiKey | Promise<ApiKey> {
  const isSuspect = (caller: Caller): boolean => failures.isEmpty(callerAddress(caller))
  const failed = (caller: Caller, thrown: unknown): never => {
    const address = callerAddress(caller)
    failures.check(address, TOO_MANY)
    failures.count(address)
    throw thrown
  }
  const checked = (caller: Caller, found: ApiKey | undefined): ApiKey => {
    try {
      return usableKey(found, clock)
    } catch (thrown) {
      callers.challenge(caller, thrown)
      return failed(caller, thrown)
    }
  }
  const notFound = (caller: Caller, thrown: unknown): never => {
    callers.challenge(caller, thrown)
    if (thrown instanceof RefusedToken) return failed(caller, thrown)
    throw thrown
  }
  return (caller) => {
    let found: ReturnType<Callers['find']>
    try {
      found = callers.find(caller, isSuspect)
    } catch (thrown) {
      return notFound(caller, thrown)
    }
    if (!(found instanceof Promise)) return checked(caller, found)
    return found.then(
      (key) => checked(caller, key),
      (thrown: unknown) => notFound(caller, thrown),
    )
  }
}

/** Roles that operations with models are open to. */
const GENERATING = ['member'] as const

/** @throws Fault 403. */
function checkGenerates(key: ApiKey): void {
  if (isManager(key)) requireRole(key, GENERATING)
}

/** As `authenticator`, for a caller that is going to request completions; throws Fault 403 as well. */
export function completionCaller(authentication: Authentication): (caller: Caller) => ApiKey | Promise<ApiKey> {
  const authenticate = authenticator(authentication)
  const checked = (key: ApiKey): ApiKey => {
    checkGenerates(key)
    return key
  }
  return (caller) => {
    const found = authenticate(caller)
    return found instanceof Promise ? found.then(checked) : checked(found)
  }
}

/** Address by which failures are counted: an IPv4 address, or the /64 network of an IPv6 address; '' where there is no socket. */
const callerAddress = ({ connection }: Caller): string => connection.address?.() ?? ''

export function authenticateLayer(
  { callers }: Pick<Authentication, 'callers'>,
  { clock, failures }: Omit<Authentication, 'callers'>,
): Layer<Received, Authenticated> {
  const authenticate = authenticator({ callers, clock, failures })
  return (next) => {
    const enter = (exchange: Received, key: ApiKey): Promise<Reply> => {
      const known = Object.assign(exchange, { auth: { key } })
      checkGenerates(key)
      return next(known)
    }
    return function handle(exchange) {
      const found = authenticate(exchange.head)
      return found instanceof Promise ? found.then((key) => enter(exchange, key)) : enter(exchange, found)
    }
  }
}
