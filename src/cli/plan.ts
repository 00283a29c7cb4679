/** `headgate plan CONFIG REQUEST.json`: plans a request without a port, a store or a call of a provider. */
import { readFileSync } from 'node:fs'
import { loadWhole } from '../app/config-reader.ts'
import { Rehearsal } from '../app/rehearsal/rehearsal.ts'
import { ConfigError } from '../config/problems.ts'
import { systemClock } from '../core/clock.ts'
import { PLAN_FORMATS } from '../pipeline/plan/format.ts'
import { CONSOLE, type Streams } from './console.ts'
import { planText, refusalText } from './plan-table.ts'

export interface PlanFlags {
  /** One of `PLAN_FORMATS`. */
  format?: string
  /** Name of a key. */
  key?: string
  /** The plan as JSON, as `POST /v1/plan` answers. */
  json?: boolean
}

/**
 * Prints the plan, or the reason why the request would be refused.
 * @param requestFile a generation body; `-` is standard input.
 * @returns the exit code: 0, 1 where the request would be refused or something cannot be read, 2 for a wrong flag.
 */
export async function plan(
  [configFile, requestFile]: readonly [string, string],
  flags: PlanFlags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  streams: Streams = CONSOLE,
): Promise<number> {
  const format = PLAN_FORMATS.find((one) => one === flags.format)
  if (flags.format !== undefined && !format) {
    streams.error(`headgate: --format: expected one of: ${PLAN_FORMATS.join(', ')}, found ${flags.format}`)
    return 2
  }
  let rehearsal: Rehearsal | undefined
  try {
    const config = await loadWhole(configFile, env)
    const text = readFileSync(requestFile === '-' ? 0 : requestFile, 'utf8')
    rehearsal = new Rehearsal(config, systemClock)
    const found = await rehearsal.plan({ text, key: flags.key, format })
    if (found.kind === 'plan') {
      streams.out(flags.json ? JSON.stringify(found.plan, undefined, 2) : planText(found.plan))
      return 0
    }
    if (flags.json) streams.out(JSON.stringify(found.body, undefined, 2))
    else streams.error(refusalText(found.status, found.body))
    return 1
  } catch (error) {
    streams.error(error instanceof ConfigError ? error.message : `headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  } finally {
    await rehearsal?.close()
  }
}
