/** The running configuration, and what a submitted one would mean. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { shortText } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface ConfigurationQuery {
  /** Only entries whose path begins with it; empty for all. */
  readonly path: string
}

export interface SubmittedCheck {
  readonly text: string
  /** Text of a file of policy tests. */
  readonly tests: string | undefined
}

/** A recorded request that can be planned, with the key that sent it. */
export interface RehearsalAsk {
  readonly record: GenerationRecord
  readonly key: ApiKey
  /** True for a key of the configuration, which another configuration may change or leave out; and for the key that issued it. */
  readonly written: boolean
  readonly issuerWritten: boolean
}

/** The first endpoint of a plan, or why there is none. */
export type Outcome =
  | {
      readonly model: string
      readonly provider_name: string
      /** `model@tag`. */
      readonly endpoint: string
      readonly price: JsonObject | null
      /** Nano-dollars of the recorded tokens there; null where its price is unknown. */
      readonly cost: number | null
    }
  | { readonly status: number; readonly type: string | null; readonly message: string }

export interface RehearsalResult {
  /** As for a check; where there are any, nothing is planned. */
  readonly problems: JsonObject[]
  readonly notChecked: JsonObject[]
  /** In the order of the requests; shorter where the time was over. `today` is null where the running text cannot be read alone. */
  readonly outcomes: readonly { readonly today: Outcome | null; readonly planned: Outcome }[]
}

export interface ConfigurationHandler {
  show(query: ConfigurationQuery): JsonObject
  check(submitted: SubmittedCheck): Promise<JsonObject>
  /** @throws Fault 408, 422, 503. */
  rehearse(text: string, plannedRequests: readonly RehearsalAsk[]): Promise<RehearsalResult>
}

export interface ConfigurationSource {
  readonly configuration: ConfigurationHandler
}

const MAX_PATH_LENGTH = 512
export const pathStart = shortText('path', 'Only entries whose path begins with it.', MAX_PATH_LENGTH, 'models')
/** Characters of a submitted text. */
export const MAX_TEXT_LENGTH = 1_000_000
/** Bytes of the bodies that hold one, JSON's escapes included. */
export const MAX_BODY = 4_000_000

/** @throws Fault 400. */
export async function showConfiguration(query: URLSearchParams, { configuration }: ConfigurationSource): Promise<ApiReply> {
  return ok({ data: configuration.show({ path: pathStart.read(query) ?? '' }) })
}

/** @throws Fault 400; 408, 422 or 503 where the text cannot be checked. */
export async function checkConfiguration(body: JsonObject, { configuration }: ConfigurationSource): Promise<ApiReply> {
  const tests = body.tests === undefined || body.tests === null ? undefined : textIn(body, 'tests')
  return ok({ data: await configuration.check({ text: textIn(body, 'text'), tests }) })
}

/** @throws Fault 400. */
export function textIn(body: JsonObject, name: string): string {
  const text = body[name]
  if (typeof text !== 'string') throw badField(name, 'expected the text of a YAML file')
  if (text.length > MAX_TEXT_LENGTH) throw badField(name, `expected at most ${MAX_TEXT_LENGTH} characters, found ${text.length}`)
  return text
}
