/**
 * Replies of the admin listener that the pages of the control room read, beside those of the API. The routes return these types, the types
 * of the pages are made from them (scripts/web-types.ts), and tests hold what is sent against them.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { ENTRY_KINDS } from '../core/ledger-entries.ts'
import { ROLES } from '../core/roles.ts'

const count = () => Type.Integer({ minimum: 0 })
const time = () => Type.String()
const maybe = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
/** Nano-dollars; a text where they are more than 2^53. */
const nano = () => Type.Union([Type.Integer(), Type.String()])
const nanos = <T extends string>(names: readonly T[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, nano()])) as Record<T, ReturnType<typeof nano>>)

/** Words as the store has them: that of another version may have more. */
const stored = (words: readonly string[]) => Type.Unsafe<string>(Type.Enum([...words]))

const session = Type.Object({
  brand: Type.String(),
  /** Identity providers where people sign in, and why a sign-in there may open no session. */
  sign_in: Type.Object({
    issuers: Type.Array(Type.Object({ name: Type.String(), label: Type.String() })),
    refusals: Type.Record(Type.String(), Type.String()),
  }),
  /** Null without a session. */
  data: maybe(
    Type.Object({
      name: Type.String(),
      role: Type.Enum(['operator', 'manager', 'person']),
      key_role: Type.Enum([...ROLES]),
      actions: Type.Array(Type.String()),
      expires_at: time(),
      version: Type.String(),
      api_url: maybe(Type.String()),
    }),
  ),
})

const finding = Type.Object({
  at: time(),
  generation: Type.String(),
  key: Type.String(),
  key_name: maybe(Type.String()),
  guardrail_id: Type.String(),
  guardrail: Type.String(),
  direction: stored(['input', 'output']),
  stage: Type.String(),
  action: stored(['flagged', 'redacted', 'blocked', 'unchecked']),
  entities: Type.Array(Type.String()),
  engines: Type.Array(Type.String()),
  count: count(),
  hashes: Type.Array(Type.String()),
  texts: Type.Optional(Type.Array(Type.String())),
})

const findings = Type.Object({ data: Type.Array(finding), next: maybe(Type.Object({ at: Type.Number(), id: Type.String() })) })

const exportRuns = Type.Object({
  exports: Type.Array(Type.String()),
  run: maybe(
    Type.Object({
      export: Type.String(),
      since: time(),
      until: time(),
      rows: count(),
      batches: count(),
      state: Type.Enum(['running', 'done', 'failed']),
      problem: maybe(Type.String()),
    }),
  ),
})

const verdict = Type.Object({
  ok: Type.Boolean(),
  generations: count(),
  open: count(),
  charged: nano(),
  providers: nano(),
  fees: nano(),
  carried: nano(),
  entries: Type.Optional(nanos([...ENTRY_KINDS, 'open'])),
  problems: Type.Array(Type.String()),
  before: Type.Optional(
    Type.Object({ generations: count(), charged: nano(), providers: nano(), fees: nano(), checked_at: time(), until: time() }),
  ),
  checked_at: time(),
})

const progress = Type.Object({
  running: maybe(Type.Object({ full: Type.Boolean(), checked_at: time(), generations: count(), of: maybe(count()) })),
})

const recovery = Type.Object({
  count: count(),
  charged: Type.Integer(),
  oldest: maybe(time()),
  newest: maybe(time()),
  keys: Type.Array(Type.Object({ key: Type.String(), count: count(), charged: Type.Integer() })),
  generations: Type.Array(Type.String()),
})

const rebuilt = Type.Object({ from: Type.String() })

export type SessionReply = Static<typeof session>
export type FindingsReply = Static<typeof findings>
export type ExportRunsReply = Static<typeof exportRuns>
export type VerdictReply = Static<typeof verdict>
export type ProgressReply = Static<typeof progress>
export type RecoveryReply = Static<typeof recovery>
export type RebuiltReply = Static<typeof rebuilt>

/** By the names of their types; the routes by method and path. */
export const ADMIN_REPLIES: Readonly<Record<string, { readonly routes: readonly string[]; readonly schema: TSchema }>> = {
  SessionReply: { routes: ['GET /control-room/session', 'POST /control-room/session'], schema: session },
  FindingsReply: { routes: ['POST /guardrails/command'], schema: findings },
  ExportRunsReply: { routes: ['GET /ledger/exports', 'POST /ledger/exports'], schema: exportRuns },
  VerdictReply: { routes: ['GET /ledger/verify', 'GET /ledger/verify/full'], schema: verdict },
  ProgressReply: { routes: ['GET /ledger/verify/progress'], schema: progress },
  RecoveryReply: { routes: ['GET /ledger/recovery'], schema: recovery },
  RebuiltReply: { routes: ['POST /ledger/rebuild'], schema: rebuilt },
}
