/** Record of a request: its generation, or its refusal. From the running gateway, or from its store where none runs. */
import { type RefusalCommand, runGenerationCommand, runRefusalCommand } from '../api/index.ts'
import type { Config } from '../config/config.ts'
import { type ResolvedKeys, resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { AdminRefusal } from './admin-request.ts'
import type { Gateway } from './gateway.ts'

/** @throws Error where there is no such generation. */
export async function generationRecord(id: string, gateway: Gateway): Promise<JsonObject> {
  const command = { id }
  return (
    (await gateway.ask('/generations/command', command)) ??
    (await gateway.onStore(
      ({ keys: store, ledger }, config) => runGenerationCommand(command, { store, ledger, configured: keysIn(config) }),
      { isThere: true },
    ))
  )
}

/** A page of refused requests. */
export async function refusalRecords(command: RefusalCommand, gateway: Gateway): Promise<JsonObject> {
  return (
    (await gateway.ask('/refusals/command', command)) ??
    (await gateway.onStore(
      ({ keys: store, refusals: log }, config) =>
        runRefusalCommand(command, { store, configured: keysIn(config), refusals: log.store, clock: systemClock }),
      { isThere: true },
    ))
  )
}

/** True if an error says that the wanted record is not there. */
export function isNotFound(error: unknown): boolean {
  return (error instanceof AdminRefusal || error instanceof Fault) && error.status === 404
}

/** A secret that was generated just now is not in use as a key. */
function keysIn(config: Config): ResolvedKeys['keys'] {
  const { keys, generated } = resolveKeys(config)
  return generated === undefined ? keys : []
}
