/**
 * Sign-out that an identity provider says by itself (OpenID Connect Back-Channel Logout 1.0, 2.5 to 2.8): the provider calls, not a
 * browser, so that nothing but the logout token proves it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RoomSessions } from '../../api/room-sessions.ts'
import { isEnded } from '../../api/room-sessions.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { RefusedToken } from '../../core/token-refusals.ts'
import { Attempts } from '../../pipeline/request/attempt-buckets.ts'
import { SAFE_HEADERS } from './files.ts'
import type { KnownPerson, People, PersonSignOut } from './people.ts'
import { readBody, reply } from './replies.ts'

/** Bytes of a request: the longest token that callers may show, and its name. */
const MAX_BYTES = 17 * 1024
/** Calls with a wrong token, by address: for those beyond the keys of the provider are not fetched. */
const WRONG_RATE = { burst: 10, perSecond: 0.1 }
/** Sign-outs that are remembered for sign-ins which are on their way, the newest ones. */
const MAX_RECENT = 256

export interface ProviderSignOutsOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly people: Pick<People, 'signOut'>
  readonly sessions: Pick<RoomSessions, 'endSignedOut'>
  readonly addresses: { of(request: IncomingMessage): string }
  readonly log: Pick<Log, 'info'>
}

export class ProviderSignOuts {
  private readonly options: ProviderSignOutsOptions
  private readonly wrong: Attempts
  private readonly recent: PersonSignOut[] = []

  constructor(options: ProviderSignOutsOptions) {
    this.options = options
    this.wrong = new Attempts(options.clock, WRONG_RATE)
  }

  /** @param name of the sign-in. @throws Fault 413; 503 where the keys of the provider, or the store, cannot be reached. */
  async handle(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { people, sessions, addresses, log } = this.options
    const address = addresses.of(request)
    const [token, ...more] = new URLSearchParams((await readBody(request, MAX_BYTES)).toString()).getAll('logout_token')
    try {
      if (token === undefined || more.length > 0) throw new RefusedToken('token_malformed')
      const signOut = await people.signOut(name, token, () => this.wrong.isEmpty(address))
      // Before those of the store are ended: a sign-in that writes its session meanwhile looks here afterwards.
      this.remember(signOut)
      const { subject: identity, session, issuedAt, use } = signOut
      const ended = await sessions.endSignedOut({ identity, session, issuedAt }, address)
      use()
      if (ended > 0) log.info({ issuer: name, sessions: ended }, 'sessions ended at the identity provider')
      response.writeHead(200, { ...SAFE_HEADERS, 'Cache-Control': 'no-store' }).end()
    } catch (thrown) {
      if (!(thrown instanceof RefusedToken)) throw thrown
      this.wrong.count(address)
      reply(response, 400, { error: 'invalid_request', error_description: thrown.message })
    }
  }

  /** True for a person whose sign-in has ended at the provider while the gateway made the session of it. */
  hasEnded(person: Pick<KnownPerson, 'subject' | 'session' | 'issuedAt'>): boolean {
    return this.recent.some(({ subject, session, issuedAt }) => {
      // Other people's sign-outs name another subject, or a session that is not this one.
      const isOthers = subject === undefined ? session !== person.session : subject !== person.subject
      return !isOthers && isEnded(person, { identity: subject, session, issuedAt })
    })
  }

  private remember(signOut: PersonSignOut): void {
    this.recent.push(signOut)
    if (this.recent.length > MAX_RECENT) this.recent.shift()
  }
}
