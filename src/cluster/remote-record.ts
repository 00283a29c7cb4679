/** The store of record in a worker: sends every call to the owner. */
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import type { KeyRecord, StoredKey } from '../store/keys.ts'
import type { StoreOfRecord } from '../store/record.ts'
import type { Line } from './ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from './messages.ts'
import { type AnyForm, type Called, METHODS, type StoreName, unpack } from './record-methods.ts'
import type { WakeSource } from './wake-source.ts'

export type OwnerLine = Line<OwnerOffer, WorkerOffer>

export type RemoteRecord = ReturnType<typeof remoteRecord>

/** Tries of a change before it is given up: each fails only because another change of the same key went through. */
const MAX_TRIES = 100

export function remoteRecord(line: OwnerLine) {
  const listeners: (() => void)[] = []
  const store = <Name extends StoreName>(name: Name): Called<Name> => remoteStore(line, name)
  const keys = store('keys')
  return {
    ...store('record'),
    keys: { ...keys, change: async (hash: string, how: Change, by?: Origin) => changeSeen(line, await keys.find(hash), { how, by }) },
    ledger: {
      ...store('ledger'),
      lists: store('lists'),
      entries: store('entries'),
      readers: undefined,
      export: (since = 0) => exported(line, since),
    },
    guardrails: store('guardrails'),
    compactionKeys: store('compactionKeys'),
    byokKeys: store('byokKeys'),
    levels: store('levels'),
    events: store('events'),
    auditLog: store('auditLog'),
    refusals: store('refusals'),
    givenIds: store('givenIds'),
    /** Calls `wake` whenever the owner knows that a pulse would bring a change. */
    onWake: (wake: () => void): void => void listeners.push(wake),
    /** The owner's notification. */
    wake: (): void => {
      for (const wake of listeners) wake()
    },
    /** The record is the owner's: nothing of it ends here. */
    close: async (): Promise<void> => {},
  } satisfies StoreOfRecord & WakeSource & { wake(): void }
}

function remoteStore<Name extends StoreName>(line: OwnerLine, name: Name): Called<Name> {
  const call =
    (method: string, form: AnyForm) =>
    async (...args: unknown[]): Promise<unknown> => {
      // Absent ones at the end would cross as null.
      const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
      const result = await line.ask('call', name, method, given)
      return form === 'packed' ? unpack(result as string) : result
    }
  return Object.fromEntries(Object.entries<AnyForm>(METHODS[name]).map(([method, form]) => [method, call(method, form)])) as Called<Name>
}

type Change = (key: StoredKey) => KeyRecord

/** A function cannot cross: the result is set if the key is still the one that it was made from. */
async function changeSeen(
  line: OwnerLine,
  found: StoredKey | undefined,
  { how, by }: { how: Change; by: Origin | undefined },
): Promise<StoredKey | undefined> {
  let seen = found
  for (let tries = 0; seen; tries++) {
    if (tries === MAX_TRIES) throw new Fault('unavailable', { message: 'The key is changed too often', retryAfter: 1 })
    const replaced = await line.ask('keyReplace', seen, how(seen), by ?? GATEWAY_ORIGIN)
    if ('done' in replaced) return replaced.done
    seen = 'current' in replaced ? replaced.current : undefined
  }
  return undefined
}

/** The owner reads on whenever a page has been read here. */
async function* exported(line: OwnerLine, since: number): AsyncGenerator<GenerationRecord> {
  const reading = await line.ask('ledgerOpen', since)
  try {
    for (;;) {
      const page = await line.ask('ledgerNext', reading)
      if (page.length === 0) return
      for (const { settled, ...rest } of page) yield { ...rest, settled }
    }
  } finally {
    line.notify('ledgerEnd', reading)
  }
}
