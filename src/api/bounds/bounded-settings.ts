/** Guardrails, keys of providers and budgets as a caller with a place sees and changes them. */
import { badField, Fault } from '../../core/faults.ts'
import { isPlacedId } from '../../core/placed-id.ts'
import type { Reach } from '../../core/reach.ts'
import { type Budgets, budgetLevels, budgetNamed } from '../../core/shared-budget.ts'
import type { AttributedByokKeys, StoredByokKey } from '../../store/byok-keys.ts'
import type { AttributedGuardrails, GuardrailSnapshot } from '../../store/guardrails.ts'
import { DEFAULT_GUARDRAIL, type FileGuardrail, workspaceGuardrail } from '../guardrail-entry.ts'
import type { Within } from './within.ts'

/** Guardrails that were made in the place, and those that somebody else has assigned to its keys: these are shown, and changed by others. */
export function boundedGuardrails(guardrails: AttributedGuardrails, within: Within): AttributedGuardrails {
  // That of the place itself is set from above, as is what holds for every request of the gateway.
  const isOwnWorkspaces = (id: string, place: Reach): boolean =>
    place.kind === 'workspace' && place.id !== within.reach.id && id !== DEFAULT_GUARDRAIL && workspaceGuardrail(place.id) === id
  const owns = (id: string): boolean => within.places().some((place) => isPlacedId(id, place) || isOwnWorkspaces(id, place))
  const all = async (): Promise<GuardrailSnapshot> => {
    const [found, identities] = [await guardrails.all(), await within.identities()]
    const { groups } = within.levels()
    const assignments = found.assignments.filter(({ kind, subject }) =>
      kind === 'key' ? identities.has(subject) : kind === 'workspace' && groups.includes(subject),
    )
    const held = new Set(assignments.map(({ guardrail }) => guardrail))
    return { guardrails: found.guardrails.filter(({ id }) => owns(id) || held.has(id)), assignments }
  }
  const isThere = async (id: string): Promise<boolean> => (await all()).guardrails.some((each) => each.id === id)
  const refuseForeign = (id: string): void => {
    if (!owns(id)) throw foreign(within)
  }
  return {
    note: unbounded,
    findings: unbounded,
    prune: unbounded,
    secret: unbounded,
    all,
    put: async (guardrail, seen, by) => {
      refuseForeign(guardrail.id)
      return guardrails.put(guardrail, seen, by)
    },
    remove: async (id, by) => {
      if (!(await isThere(id))) return false
      refuseForeign(id)
      return guardrails.remove(id, by)
    },
    assign: async (assignments, by) => {
      const held = (await all()).assignments
      const [identities, { groups }] = [await within.identities(), within.levels()]
      for (const { guardrail, kind, subject } of assignments) {
        refuseForeign(guardrail)
        // A person may be a member elsewhere as well.
        if (kind === 'key' ? !identities.has(subject) : kind !== 'workspace' || !groups.includes(subject)) throw elsewhere(within)
        const before = held.find((each) => each.kind === kind && each.subject === subject)
        // It would take the place of one that others have set for the key.
        if (before) refuseForeign(before.guardrail)
      }
      return guardrails.assign(assignments, by)
    },
    unassign: async (kind, guardrail, subjects, by) => {
      refuseForeign(guardrail)
      return guardrails.unassign(kind, guardrail, subjects, by)
    },
  }
}

const elsewhere = ({ reach }: Within): Fault =>
  new Fault('forbidden', { message: `Guardrails of one ${reach.kind} hold for keys and workspaces that lie in it, expected one of these` })

/** No operation within a place calls it. */
const unbounded = (): never => {
  throw new TypeError('this part of the store has no bound')
}

const foreign = ({ reach }: Within): Fault =>
  new Fault('forbidden', { message: `The guardrail is not of the ${reach.kind} of this key: those who made it change and assign it` })

/** Guardrails of the file that name a key of the place. */
export function boundedWritten(written: readonly FileGuardrail[], names: ReadonlySet<string>): readonly FileGuardrail[] {
  return written.flatMap((guardrail) => {
    const keys = guardrail.keys?.filter((name) => names.has(name)) ?? []
    return keys.length === 0 ? [] : [{ ...guardrail, keys }]
  })
}

/** Keys of providers that only keys of the place may use. */
export function boundedByok(byok: AttributedByokKeys, within: Within): AttributedByokKeys {
  const isIn = async ({ terms: { allowedKeys } }: StoredByokKey): Promise<boolean> => {
    const identities = await within.identities()
    return allowedKeys !== null && allowedKeys.length > 0 && allowedKeys.every((identity) => identities.has(identity))
  }
  const all = async (): Promise<StoredByokKey[]> => {
    const found: StoredByokKey[] = []
    for (const key of await byok.all()) if (await isIn(key)) found.push(key)
    return found
  }
  return {
    rewrap: unbounded,
    all,
    put: async (key, seen, by) => {
      if (!(await isIn(key)))
        throw badField('allowed_api_key_hashes', `expected hashes of keys in the ${within.reach.kind} of this management key`)
      return byok.put(key, seen, by)
    },
    remove: async (id, by) => (await all()).some((key) => key.id === id) && byok.remove(id, by),
  }
}

/** Budgets that keys of the place draw on, and no others. */
export async function boundedBudgets(budgets: Budgets, within: Within): Promise<Budgets> {
  const [own, others] = [new Set<string>(), new Set<string>()]
  for (const key of await within.allKeys()) {
    const budget = key.parent !== undefined && Object.hasOwn(budgets, key.parent) ? budgetNamed(key.parent, budgets) : undefined
    for (const { name } of budget ? budgetLevels(budget) : []) (within.has(key) ? own : others).add(name)
  }
  return Object.fromEntries(Object.entries(budgets).filter(([name]) => own.has(name) && !others.has(name)))
}
