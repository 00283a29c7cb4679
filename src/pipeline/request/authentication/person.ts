/** The control room shows who a person is that has signed in there at an identity provider. */
import { isPersonTicket, openTicket } from '../../../core/person-ticket.ts'
import { withMemberRole } from '../../../ledger/member-roles.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import type { AuthenticationMethod, AuthenticationParts, Caller } from './method.ts'

/** Undefined without an issuer at which people sign in: no request is looked at then. */
export function person({ config, tokens, places }: AuthenticationParts): AuthenticationMethod | undefined {
  const roomHash = config.operatorKey?.hash
  if (!tokens || roomHash === undefined || !config.issuers.some(({ signIn }) => signIn)) return undefined
  const found = ({ headers }: Caller): ApiKey | undefined => {
    const ticket = openTicket(headers.authorization ?? '', roomHash, tokens.clock.now())
    const key = ticket && tokens.person(ticket)
    return key && places ? withMemberRole(key, places) : key
  }
  return {
    shows: ({ headers }) => isPersonTicket(headers.authorization),
    atHand: found,
    find: found,
    // As a token: what was verified with a request holds to its end.
    renew: () => undefined,
  }
}
