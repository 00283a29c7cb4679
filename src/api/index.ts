export type { UntimedEntry } from '../store/audit-log.ts'
export { ADMIN_REPLIES, type SessionReply } from './admin-replies.ts'
export { type AuditCommand, type AuditSource, runAuditCommand } from './audit.ts'
export { answerTo, isOwnMachine, type SignInPolicy } from './auth-callback.ts'
export { findConsenter, type KeyRequest, makeCode, parseKeyRequest, requireSignIn } from './auth-code.ts'
export { exchangeCode } from './auth-exchange.ts'
export { type CompactionCommand, type CompactionSource, runCompactionCommand } from './compaction-commands.ts'
export { csvReply, csvText, wantsCsv } from './csv.ts'
export { runEntryCommand } from './entry-commands.ts'
export { type EventCommand, runEventCommand } from './event-commands.ts'
export type { EventSource } from './events.ts'
export { type FileForm, fileEntry } from './files.ts'
export { readGeneration } from './generation.ts'
export { type DetailSource, runGenerationCommand } from './generation-detail.ts'
export { type GuardrailCommand, type GuardrailReading, runGuardrailCommand } from './guardrail-commands.ts'
export { readKey } from './key.ts'
export { catalogFor } from './key-catalog.ts'
export { type KeyCommand, runKeyCommand } from './key-commands.ts'
export type { KeySource } from './key-entry.ts'
export { createKey } from './keys.ts'
export type { EntrySource } from './ledger-entry.ts'
export type { Call, Operation } from './operation.ts'
export { type ChangeSource, keyActor } from './origin.ts'
export { REFUSALS_CSV, type RefusalCommand, type RefusalSource, runRefusalCommand } from './refusals.ts'
export { type ApiReply, type BytesReply, replyJson } from './reply.ts'
export {
  MAX_SESSION_MS,
  type RoomSession,
  RoomSessions,
  type RoomSessionsOptions,
  type SessionHolder,
} from './room-sessions.ts'
export { runSessionCommand, type SessionCommand, type SessionSource } from './sessions.ts'
export type { ConsentBuckets, ManagementSource, OperationSource, UploadSource } from './source.ts'
