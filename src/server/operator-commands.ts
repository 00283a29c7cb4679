/** The admin listener's routes for commands of the command line. */
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

/** Inputs of commands, called for each, since a reload changes them. */
export interface CommandSource {
  /** Of keys and guardrails, sessions, refused requests, generations and entries of the ledger. */
  records(): KeySource & GuardrailReading & SessionSource & RefusalSource & DetailSource & EntrySource
  events(): EventSource
  readonly compaction: CompactionSource
}

type Run = (command: JsonObject, source: CommandSource) => Promise<JsonObject>

/** By path. Those on guardrails, sessions, refusals and generations change nothing. */
const COMMANDS = {
  '/keys/command': (command, { records }) => runKeyCommand(command, records()),
  '/sessions/command': (command, { records }) => runSessionCommand(command, records()),
  '/refusals/command': (command, { records }) => runRefusalCommand(command, records()),
  '/generations/command': (command, { records }) => runGenerationCommand(command, records()),
  '/ledger/entries/command': (command, { records }) => runEntryCommand(command, records()),
  '/guardrails/command': (command, { records }) => runGuardrailCommand(command, records()),
  '/compaction/command': (command, { compaction }) => runCompactionCommand(command, compaction),
  '/events/command': (command, { events }) => runEventCommand(command, events()),
} satisfies Record<string, Run>

export type CommandPath = keyof typeof COMMANDS

export function commandRoutes(source: CommandSource): [name: string, route: AdminRoute][] {
  return Object.entries<Run>(COMMANDS).map(([path, run]) => [`POST ${path}`, commandRoute((command) => run(command, source))])
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
