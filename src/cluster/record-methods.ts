/**
 * Methods of the store of record that workers call at their owner: the one list of which both sides are made. Methods with arguments or
 * results of another kind, such as functions and streams, are written by hand in `remote-record.ts` and `owner-server.ts`.
 */
import { deserialize, serialize } from 'node:v8'
import type { LedgerEntries } from '../ledger/entries.ts'
import { LEDGER_LISTS, LEDGER_READS, type LedgerLists, type LedgerReads } from '../ledger/reader.ts'
import type { StoreOfRecord } from '../store/record.ts'
import type { Crossing } from './ipc-line.ts'

/** The store of record itself, its parts, the reads, lists and entries of its ledger. */
interface Stores
  extends Pick<
    StoreOfRecord,
    'keys' | 'guardrails' | 'compactionKeys' | 'byokKeys' | 'levels' | 'events' | 'auditLog' | 'refusals' | 'givenIds'
  > {
  readonly record: StoreOfRecord
  readonly ledger: LedgerReads
  readonly lists: LedgerLists
  readonly entries: LedgerEntries
}

export type StoreName = keyof Stores

/** Members that are no such calls: written by hand, or of the owner alone. */
interface Others {
  record: 'close' | Exclude<StoreName, 'record' | 'entries' | 'lists'>
  keys: 'change' | 'atHand'
}

type MethodName<Name extends StoreName> = Exclude<keyof Stores[Name], Name extends keyof Others ? Others[Name] : never>

type Method<Name extends StoreName, Call extends keyof Stores[Name]> =
  NonNullable<Stores[Name][Call]> extends (...args: infer Given) => infer Result ? (...args: Given) => Promise<Awaited<Result>> : never

/** A store as its calls cross. */
export type Called<Name extends StoreName> = { readonly [Call in MethodName<Name>]-?: Method<Name, Call> }

/** A store as it answers them. */
export type Answering<Name extends StoreName> = {
  readonly [Call in keyof Called<Name>]: (
    ...args: Parameters<Called<Name>[Call]>
  ) => Awaited<ReturnType<Called<Name>[Call]>> | ReturnType<Called<Name>[Call]>
}

export type AnyForm = 'plain' | 'packed'

/** `plain` if arguments and result have a form in JSON, `packed` if the result has none; without a form for an argument it does not compile. */
type Form<Call> = Call extends (...args: infer Given) => Promise<infer Result>
  ? Given extends Crossing<Given>
    ? undefined extends Required<Given>[number & keyof Given]
      ? never
      : Result extends Crossing<Result>
        ? 'plain'
        : 'packed'
    : never
  : never

type Methods = {
  readonly [Name in StoreName]: {
    readonly [Call in keyof Called<Name>]: Name extends 'ledger' | 'lists' ? 'packed' : Form<Called<Name>[Call]>
  }
}

const allPacked = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 'packed'])) as Readonly<Record<Name, 'packed'>>

export const METHODS: Methods = {
  record: {
    take: 'plain',
    lease: 'plain',
    giveBack: 'plain',
    endLeases: 'plain',
    pulse: 'plain',
    balances: 'packed',
    spentByAll: 'packed',
    forgetLost: 'packed',
  },
  keys: {
    find: 'plain',
    findMany: 'plain',
    put: 'plain',
    add: 'plain',
    remove: 'plain',
    list: 'plain',
    issuedBy: 'plain',
    listAfter: 'plain',
  },
  ledger: allPacked(LEDGER_READS),
  lists: allPacked(LEDGER_LISTS),
  entries: { add: 'plain', page: 'plain', sums: 'packed', moves: 'plain' },
  guardrails: {
    all: 'plain',
    put: 'plain',
    remove: 'plain',
    assign: 'plain',
    unassign: 'plain',
    note: 'plain',
    findings: 'plain',
    prune: 'plain',
    secret: 'plain',
  },
  compactionKeys: { all: 'plain', add: 'plain', rewrite: 'plain', remove: 'plain' },
  byokKeys: { all: 'plain', put: 'plain', rewrap: 'plain', remove: 'plain' },
  levels: { since: 'plain', put: 'plain', remove: 'plain' },
  events: {
    add: 'plain',
    page: 'plain',
    last: 'plain',
    find: 'plain',
    deliveries: 'plain',
    redeliver: 'plain',
    receivers: 'plain',
    setDisabled: 'plain',
  },
  auditLog: { add: 'plain', page: 'plain', head: 'plain', prune: 'plain' },
  refusals: { put: 'plain', list: 'plain', prune: 'plain' },
  givenIds: { give: 'plain', find: 'plain', prune: 'plain' },
}

/** A value with maps and integers beyond 2^53, which JSON has not. */
export const pack = (value: unknown): string => serialize(value).toString('base64')

export const unpack = (packed: string): unknown => deserialize(Buffer.from(packed, 'base64'))
