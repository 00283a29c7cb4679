/** The admin listener's routes for commands of the command line. */
import type { IncomingMessage } from 'node:http'
import type { AuditReportSource } from '../api/audit-report.ts'
import type { ByokSource } from '../api/byok.ts'
import type { ChargebackSource } from '../api/chargeback.ts'
import type { CompactionSource } from '../api/compaction-commands.ts'
import type { EventSource } from '../api/events.ts'
import type { DetailSource } from '../api/generation-detail.ts'
import type { GuardrailReading } from '../api/guardrail-commands.ts'
import type { KeySource } from '../api/key-entry.ts'
import type { EntrySource } from '../api/ledger-entry.ts'
import type { LevelsSource } from '../api/levels.ts'
import type { RefusalSource } from '../api/refusals.ts'
import type { SessionSource } from '../api/sessions.ts'
import type { Origin } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import { FirstUse } from '../core/first-use.ts'
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

/** Few processes ever get a command, and what runs them takes a megabyte of each that loads it. */
const library = new FirstUse(() => import('../api/index.ts'))

type Library = Awaited<ReturnType<typeof library.get>>

interface Command extends Pick<AdminRoute, 'visitors'> {
  (library: Library, command: JsonObject, source: CommandSource, origin: Origin): Promise<JsonObject>
}

/** Lists guardrails and their findings, which may hold texts of callers. */
const guardrails: Command = (api, command, { records }) => api.runGuardrailCommand(command, records())

/** By path. Those on guardrails, sessions, refusals, generations and the audit log change nothing. */
const COMMANDS = {
  '/keys/command': (api, command, { records }, origin) => api.runKeyCommand(command, { ...records(), origin }),
  '/levels/command': (api, command, { levels }, origin) => api.runLevelCommand(command, { ...levels(), origin }),
  '/chargeback/command': (api, command, { records }) => api.runChargebackCommand(command, records()),
  '/sessions/command': (api, command, { records }) => api.runSessionCommand(command, records()),
  '/audit/command': (api, command, { records }) => api.runAuditCommand(command, records()),
  '/refusals/command': (api, command, { records }) => api.runRefusalCommand(command, records()),
  '/generations/command': (api, command, { records }) => api.runGenerationCommand(command, records()),
  '/ledger/entries/command': (api, command, { records }, origin) => api.runEntryCommand(command, { ...records(), origin }),
  '/guardrails/command': Object.assign(guardrails, { visitors: 'operator' as const }),
  '/byok/command': (api, command, { byok }, origin) => api.runByokCommand(command, { ...byok(), origin }),
  '/compaction/command': (api, command, { compaction }, origin) => api.runCompactionCommand(command, { ...compaction, origin }),
  '/events/command': (api, command, { events }, origin) => api.runEventCommand(command, { ...events(), origin }),
} satisfies Record<string, Command>

export type CommandPath = keyof typeof COMMANDS

export function commandRoutes(source: CommandSource): [name: string, route: AdminRoute][] {
  return Object.entries<Command>(COMMANDS).map(([path, run]) => [`POST ${path}`, commandRoute(run, source)])
}

function commandRoute(run: Command, source: CommandSource): AdminRoute {
  const route: AdminRoute = async (request) => {
    requireJson(request)
    const origin = commandOrigin(request, source.addresses)
    return { status: 200, body: await run(await library.get(), parseBody(await readBody(request), DEEPEST), source, origin) }
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
