/** The admin listener's routes for commands of the command line. */
import type { IncomingMessage } from 'node:http'
import {
  type AuditReportSource,
  type ByokSource,
  type ChargebackSource,
  type CompactionSource,
  type DetailSource,
  type EntrySource,
  type EventSource,
  type GuardrailReading,
  type KeySource,
  type LevelsSource,
  type RefusalSource,
  runAuditCommand,
  runByokCommand,
  runChargebackCommand,
  runCompactionCommand,
  runEntryCommand,
  runEventCommand,
  runGenerationCommand,
  runGuardrailCommand,
  runKeyCommand,
  runLevelCommand,
  runRefusalCommand,
  runSessionCommand,
  type SessionSource,
} from '../api/index.ts'
import type { Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { parseBody } from '../pipeline/request/read.ts'
import type { AdminRoute } from './admin-route.ts'
import type { ClientAddresses } from './client-address.ts'
import { commandOrigin } from './origins.ts'

/** Bytes and levels: a command is small. */
const MAX_BYTES = 64 * 1024
const DEEPEST = 8

/** Inputs of commands, called for each, since a reload changes them. */
export interface CommandSource {
  /** Of keys and guardrails, sessions, refused requests, generations and entries of the ledger. */
  records(): KeySource &
    GuardrailReading &
    SessionSource &
    RefusalSource &
    DetailSource &
    EntrySource &
    AuditReportSource &
    ChargebackSource
  events(): EventSource
  byok(): ByokSource
  levels(): LevelsSource
  readonly compaction: CompactionSource
  readonly addresses: Pick<ClientAddresses, 'of'>
}

interface Run extends Pick<AdminRoute, 'visitors'> {
  (command: JsonObject, source: CommandSource, origin: Origin): Promise<JsonObject>
}

/** Lists guardrails and their findings, which may hold texts of callers. */
const guardrails: Run = (command, { records }) => runGuardrailCommand(command, records())

/** By path. Those on guardrails, sessions, refusals, generations and the audit log change nothing. */
const COMMANDS = {
  '/keys/command': (command, { records }, origin) => runKeyCommand(command, { ...records(), origin }),
  '/levels/command': (command, { levels }, origin) => runLevelCommand(command, { ...levels(), origin }),
  '/chargeback/command': (command, { records }) => runChargebackCommand(command, records()),
  '/sessions/command': (command, { records }) => runSessionCommand(command, records()),
  '/audit/command': (command, { records }) => runAuditCommand(command, records()),
  '/refusals/command': (command, { records }) => runRefusalCommand(command, records()),
  '/generations/command': (command, { records }) => runGenerationCommand(command, records()),
  '/ledger/entries/command': (command, { records }, origin) => runEntryCommand(command, { ...records(), origin }),
  '/guardrails/command': Object.assign(guardrails, { visitors: 'operator' as const }),
  '/byok/command': (command, { byok }, origin) => runByokCommand(command, { ...byok(), origin }),
  '/compaction/command': (command, { compaction }, origin) => runCompactionCommand(command, { ...compaction, origin }),
  '/events/command': (command, { events }, origin) => runEventCommand(command, { ...events(), origin }),
} satisfies Record<string, Run>

export type CommandPath = keyof typeof COMMANDS

export function commandRoutes(source: CommandSource): [name: string, route: AdminRoute][] {
  return Object.entries<Run>(COMMANDS).map(([path, run]) => [`POST ${path}`, commandRoute(run, source)])
}

function commandRoute(run: Run, source: CommandSource): AdminRoute {
  const route: AdminRoute = async (request) => {
    requireJson(request)
    const origin = commandOrigin(request, source.addresses)
    return { status: 200, body: await run(parseBody(await readBody(request), DEEPEST), source, origin) }
  }
  return run.visitors ? Object.assign(route, { visitors: run.visitors }) : route
}

/** A web page cannot send this type elsewhere without a preflight, which no route here answers (Fetch standard, CORS-safelisted types). */
function requireJson({ headers }: IncomingMessage): void {
  if (headers['content-type'] !== 'application/json') throw new Fault('media_type', { message: 'content-type: expected application/json' })
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Fault('too_large', { message: `Request payload too large: at most ${MAX_BYTES} bytes are accepted` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
