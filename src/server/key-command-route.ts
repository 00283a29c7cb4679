/** The admin listener's routes for the command line: commands on keys, on compaction keys, on entries of the ledger and on events, which change something, on guardrails, sessions, refusals and generations. */
import type { IncomingMessage } from 'node:http'
import {
  type CompactionSource,
  type DetailSource,
  type EntrySource,
  type EventSource,
  type GuardrailReading,
  type KeySource,
  type RefusalSource,
  runCompactionCommand,
  runEntryCommand,
  runEventCommand,
  runGenerationCommand,
  runGuardrailCommand,
  runKeyCommand,
  runRefusalCommand,
  runSessionCommand,
  type SessionSource,
} from '../api/index.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { parseBody } from '../pipeline/request/read.ts'
import type { AdminRoute } from './admin.ts'

/** Bytes and levels: a command is small. */
const MOST_BYTES = 64 * 1024
const DEEPEST = 8

export const KEY_COMMAND_PATH = '/keys/command'
export const GUARDRAIL_COMMAND_PATH = '/guardrails/command'
export const COMPACTION_COMMAND_PATH = '/compaction/command'
export const EVENT_COMMAND_PATH = '/events/command'
export const ENTRY_COMMAND_PATH = '/ledger/entries/command'
export const SESSION_COMMAND_PATH = '/sessions/command'
export const REFUSAL_COMMAND_PATH = '/refusals/command'
export const GENERATION_COMMAND_PATH = '/generations/command'

/** @param source called for each command, since a reload changes it. */
export function keyCommandRoute(source: () => KeySource): [name: string, route: AdminRoute][] {
  return [[`POST ${KEY_COMMAND_PATH}`, commandRoute((command) => runKeyCommand(command, source()))]]
}

/** Lists guardrails and their findings. Read-only: no command here changes them. */
export function guardrailCommandRoute(source: () => GuardrailReading): [name: string, route: AdminRoute][] {
  return [[`POST ${GUARDRAIL_COMMAND_PATH}`, commandRoute((command) => runGuardrailCommand(command, source()))]]
}

export function compactionCommandRoute(source: CompactionSource): [name: string, route: AdminRoute][] {
  return [[`POST ${COMPACTION_COMMAND_PATH}`, commandRoute((command) => runCompactionCommand(command, source))]]
}

/** @param source called for each command, since a reload changes it. */
export function eventCommandRoute(source: () => EventSource): [name: string, route: AdminRoute][] {
  return [[`POST ${EVENT_COMMAND_PATH}`, commandRoute((command) => runEventCommand(command, source()))]]
}

/** @param source called for each command, since a reload changes it. */
export function entryCommandRoute(source: () => EntrySource): [name: string, route: AdminRoute][] {
  return [[`POST ${ENTRY_COMMAND_PATH}`, commandRoute((command) => runEntryCommand(command, source()))]]
}

/** Sessions, refused requests and one generation: read-only. @param source called for each command, since a reload changes it. */
export function reportCommandRoutes(source: () => SessionSource & RefusalSource & DetailSource): [name: string, route: AdminRoute][] {
  return [
    [`POST ${SESSION_COMMAND_PATH}`, commandRoute((command) => runSessionCommand(command, source()))],
    [`POST ${REFUSAL_COMMAND_PATH}`, commandRoute((command) => runRefusalCommand(command, source()))],
    [`POST ${GENERATION_COMMAND_PATH}`, commandRoute((command) => runGenerationCommand(command, source()))],
  ]
}

function commandRoute(run: (command: JsonObject) => Promise<JsonObject>): AdminRoute {
  return async (request) => {
    requireJson(request)
    return { status: 200, body: await run(parseBody(await bodyOf(request), DEEPEST)) }
  }
}

/** A web page cannot send this type elsewhere without a preflight, which no route here answers (Fetch standard, CORS-safelisted types). */
function requireJson({ headers }: IncomingMessage): void {
  if (headers['content-type'] !== 'application/json') throw new Fault('media_type', { message: 'content-type: expected application/json' })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Fault('too_large', { message: `Request payload too large: at most ${MOST_BYTES} bytes are accepted` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
