export { type ActivitySource, readActivity } from './activity.ts'
export { listAnthropicModels, oneAnthropicModel } from './anthropic-models.ts'
export { answerTo, isOwnMachine, type SignInPolicy } from './auth-callback.ts'
export { authorize, consenterOf, makeCode, signInOf, type Wish, wishOf } from './auth-code.ts'
export { exchangeCode } from './auth-exchange.ts'
export { type CompactionCommand, type CompactionSource, runCompactionCommand } from './compaction-commands.ts'
export { type ConfigurationSource, checkConfiguration, LARGEST_BODY, showConfiguration } from './configuration.ts'
export { readCredits } from './credits.ts'
export { type EndpointSource, listEndpoints, listZdrEndpoints } from './endpoints.ts'
export { type EventCommand, runEventCommand } from './event-commands.ts'
export { type EventStream, eventStream } from './event-stream.ts'
export {
  type EventSource,
  enableReceiver,
  listDeliveries,
  listEvents,
  listReceivers,
  oneEvent,
  redeliverEvent,
} from './events.ts'
export { type FileForm, fileEntry, fileNamed, listFiles, noFile, oneFile, removeFile } from './files.ts'
export { readGeneration } from './generation.ts'
export { generationDetail } from './generation-detail.ts'
export { searchGenerations } from './generations.ts'
export { assign, listAssignments, unassign } from './guardrail-assignments.ts'
export { type GuardrailCommand, type GuardrailReading, runGuardrailCommand } from './guardrail-commands.ts'
export { DEFAULT_GUARDRAIL, type FileGuardrail, type GuardrailSource } from './guardrail-entry.ts'
export { changeGuardrail, createGuardrail, listGuardrails, oneGuardrail, removeGuardrail } from './guardrails.ts'
export { readKey } from './key.ts'
export { readKeyActivity } from './key-activity.ts'
export { readKeyBudget } from './key-budget.ts'
export { catalogFor, type ListedCatalog } from './key-catalog.ts'
export { type KeyCommand, runKeyCommand } from './key-commands.ts'
export type { KeySource } from './key-entry.ts'
export { changeKey, createKey, listKeys, oneKey, removeKey, rotateKey } from './keys.ts'
export { sortsByUse } from './model-filters.ts'
export { weekOfUse } from './model-use.ts'
export type { ModelSource } from './models.ts'
export { countModels, listEmbeddingModels, listKeyModels, listModels, oneModel, retrievedModel } from './models.ts'
export { listPresets, onePreset } from './presets.ts'
export { listProviders } from './providers.ts'
export type { ApiReply } from './reply.ts'
export { readSessions, runSessionCommand, type SessionCommand, type SessionSource } from './sessions.ts'
export { Status } from './status.ts'
