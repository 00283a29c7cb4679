/**
 * The parts that operations read and change, as a caller with a place has them. Handlers of operations of the reach `place` get them in the
 * place of the whole ones, so that none of them has to look at who calls.
 */
import { isPlacedId, placedId } from '../../core/placed-id.ts'
import { callerReach } from '../../core/reach.ts'
import type { RoleHolder } from '../../core/roles.ts'
import type { OperationSource, PlaceSource } from '../source.ts'
import { boundedConfigured, boundedKeys } from './bounded-keys.ts'
import { boundedCredit, boundedLedger, boundedLists } from './bounded-ledger.ts'
import { boundedLevels } from './bounded-levels.ts'
import { boundedAuditLog, boundedEvents, boundedRefusals } from './bounded-records.ts'
import { boundedBudgets, boundedByok, boundedGuardrails, boundedWritten } from './bounded-settings.ts'
import { Within } from './within.ts'

/** The same source for a caller that governs the whole gateway, or nothing. */
export function boundedSource(source: OperationSource, caller: RoleHolder): PlaceSource | Promise<PlaceSource> {
  const reach = callerReach(caller)
  return reach ? boundParts(source, new Within(reach, source)) : source
}

/** All members, those that may be absent as well. */
type Complete<T> = { readonly [Name in keyof Required<T>]: T[Name] | undefined }

async function boundParts(source: OperationSource, within: Within): Promise<PlaceSource> {
  const names = new Set((await within.keys()).map(({ name }) => name))
  const ledger = boundedLedger(source.ledger, within)
  const byok = boundedByok(source.byok, within)
  const settings = async (): Promise<string[]> => {
    const made = (await source.guardrails.all()).guardrails.filter(({ id }) => within.places().some((place) => isPlacedId(id, place)))
    return [...made, ...(await byok.all())].map(({ id }) => id)
  }
  // Every part is named, so that one that is added has to be bounded here.
  const parts: Complete<PlaceSource> = {
    within,
    store: boundedKeys(source, within),
    configured: boundedConfigured(source, within),
    levels: source.levels && boundedLevels(source.levels, within),
    budgets: source.budgets,
    offered: await boundedBudgets(source.budgets, within),
    credit: boundedCredit(source.credit, within),
    ledger,
    entries: ledger.entries,
    scans: boundedLists(source.scans, within),
    guardrails: boundedGuardrails(source.guardrails, within),
    written: boundedWritten(source.written, names),
    guardrailId: () => placedId(within.reach),
    byok,
    events: boundedEvents(source.events, within),
    refusals: boundedRefusals(source.refusals, within),
    auditLog: boundedAuditLog(source.auditLog, within, settings),
    // Files go with a key, which is of the place.
    files: source.files,
    guardrailsFor: source.guardrailsFor,
    modelCount: source.modelCount,
    listedFor: source.listedFor,
    // The rest is the same for all: settings of the gateway that operations go by, and show nothing of.
    brand: source.brand,
    clock: source.clock,
    encryption: source.encryption,
    there: source.there,
    takesKey: source.takesKey,
    tryOut: source.tryOut,
    replay: source.replay,
    source: source.source,
    time: source.time,
    isDraining: source.isDraining,
    memberIssuers: source.memberIssuers,
    maxBody: source.maxBody,
    jsonDepth: source.jsonDepth,
    origin: source.origin,
  }
  return parts as PlaceSource
}
