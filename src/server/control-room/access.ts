/** Rights of a visitor of the control room: every page, and every request of one, is decided here. */

/** `operator` has signed in with the admin token, `manager` with a management key. */
export type Role = 'operator' | 'manager'

/** A page of the control room, or something that changes or takes out more than pages show. */
export type Action =
  | 'now'
  | 'requests'
  | 'models'
  | 'keys'
  | 'policy'
  | 'guardrails'
  /** Findings of guardrails: with "audit: full" it holds texts of callers. */
  | 'guardrails.audit'
  | 'ledger'
  | 'events'
  | 'ledger.export'
  | 'ledger.rebuild'
  /** Calls models with the published development key: it costs nothing, since only the simulated provider is there. */
  | 'sample'
  /** Calls models with a key that the visitor pastes and that pays for it. */
  | 'playground'
  /** The management API, which checks again what its key may do. */
  | 'api'

const MANAGER: readonly Action[] = [
  'now',
  'requests',
  'models',
  'keys',
  'policy',
  'guardrails',
  'ledger',
  'events',
  'ledger.export',
  'ledger.rebuild',
  'sample',
  'playground',
  'api',
]

/** A management key sees the spend of all keys and creates any key; texts of callers are for the operator alone. */
const ALLOWED: Readonly<Record<Role, ReadonlySet<Action>>> = {
  operator: new Set([...MANAGER, 'guardrails.audit']),
  manager: new Set(MANAGER),
}

export interface Visitor {
  readonly role: Role
}

export const may = ({ role }: Visitor, action: Action): boolean => ALLOWED[role].has(action)

export const actionsOf = ({ role }: Visitor): Action[] => [...ALLOWED[role]]

/** Routes of the admin listener that a session opens; all others, such as commands on keys, stay with the admin token alone. */
const ROUTES: Readonly<Record<string, Action>> = {
  // Lists guardrails and their findings; no command of it changes anything.
  'POST /guardrails/command': 'guardrails.audit',
  'GET /ledger/verify': 'ledger',
  'GET /ledger/verify/full': 'ledger',
  'GET /ledger/verify/progress': 'ledger',
  'GET /ledger/recovery': 'ledger',
  'GET /ledger/export': 'ledger.export',
  'GET /ledger/exports': 'ledger.export',
  'POST /ledger/exports': 'ledger.export',
  'POST /ledger/rebuild': 'ledger.rebuild',
}

/** @param route method and path, such as `GET /ledger/verify`. */
export function routeAction(route: string): Action | undefined {
  return Object.hasOwn(ROUTES, route) ? ROUTES[route] : undefined
}
