/** `headgate organizations …`, `workspaces …` and `members …`: sent to the running gateway, and done on its store where none runs. */
import { type LevelCommand, runLevelCommand } from '../api/index.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import { asObjects, isObject, type JsonObject } from '../core/json.ts'
import type { LevelKind } from '../core/levels.ts'
import { BUDGET_WINDOWS } from '../core/shared-budget.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface LevelFlags extends GatewayFlags {
  json?: boolean
  name?: string
  description?: string
  /** Of a workspace: the organisation that it is made in. */
  organization?: string | boolean
  'service-account'?: boolean
  role?: string
  daily?: string
  weekly?: string
  monthly?: string
  lifetime?: string
  requests?: string
  tokens?: string
  streams?: string
}

const RATES = ['requests', 'tokens', 'streams'] as const

/** @param words behind the kind. @returns the exit code: 2 where the words make no command. */
export async function levels(kind: LevelKind, words: readonly string[], flags: LevelFlags, streams: Streams = CONSOLE): Promise<number> {
  try {
    const command = kind === 'member' ? memberCommand(words, flags) : groupCommand(kind, words, flags)
    if (!command) {
      const expected = kind === 'member' ? MEMBER_WORDS : GROUP_WORDS
      streams.error(`headgate: ${kind}s: expected ${expected}`)
      return 2
    }
    const gateway = await Gateway.find(flags)
    const reply = (await gateway.ask('/levels/command', command)) ?? (await onStore(command, gateway))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : levelTable(kind, reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

const GROUP_WORDS = 'list, create SLUG, disable NAME, enable NAME, limit NAME or delete NAME'
const MEMBER_WORDS = 'list WORKSPACE, add WORKSPACE USER, remove WORKSPACE USER, or disable, enable or limit WORKSPACE USER'

function groupCommand(kind: LevelKind, words: readonly string[], flags: LevelFlags): LevelCommand | undefined {
  const [verb, name, ...rest] = words
  if (rest.length > 0 || (name === undefined) !== (verb === 'list')) return undefined
  const { organization, description } = flags
  const above = typeof organization === 'string' ? { organization_id: organization } : {}
  switch (verb) {
    case 'list':
      return { kind, verb }
    case 'create':
      return {
        kind,
        verb,
        fields: { name: flags.name ?? String(name), slug: String(name), ...(description === undefined ? {} : { description }), ...above },
      }
    default:
      return changeCommand({ kind, name }, verb, flags)
  }
}

function memberCommand(words: readonly string[], flags: LevelFlags): LevelCommand | undefined {
  const [verb, name, user, ...rest] = words
  if (name === undefined || rest.length > 0 || (user === undefined) !== (verb === 'list')) return undefined
  const of = { kind: 'member', name, user, isOrganization: flags.organization === true } as const
  const { role } = flags
  if (verb === 'list' || verb === 'remove') return { ...of, verb }
  if (verb === 'add')
    return {
      ...of,
      verb,
      fields: { ...(role === undefined ? {} : { role }), ...(flags['service-account'] ? { is_service_account: true } : {}) },
    }
  return changeCommand(of, verb, flags)
}

function changeCommand(
  of: Pick<LevelCommand, 'kind' | 'name' | 'user' | 'isOrganization'>,
  verb: string | undefined,
  flags: LevelFlags,
): LevelCommand | undefined {
  if (verb === 'disable' || verb === 'enable') return { ...of, verb: 'change', fields: { disabled: verb === 'disable' } }
  if (verb === 'delete' && of.kind !== 'member') return { ...of, verb }
  if (verb !== 'limit') return undefined
  const rates = RATES.flatMap((rate) => (flags[rate] === undefined ? [] : [[rate, wanted(`--${rate}`, flags[rate])]]))
  if (rates.length > 0) return { ...of, verb: 'change', fields: { rate_limits: Object.fromEntries(rates) } }
  const limits = BUDGET_WINDOWS.flatMap((window) => {
    const limit = flags[window]
    return limit === undefined ? [] : [[window, wanted(`--${window}`, limit)] as const]
  })
  if (limits.length === 0)
    throw badField('limit', `expected one of: ${[...BUDGET_WINDOWS, ...RATES].map((each) => `--${each}`).join(', ')}`)
  return { ...of, verb, limits: Object.fromEntries(limits) }
}

/** Null for `none`. @throws Fault where the text is no number. */
function wanted(field: string, text: string): number | null {
  if (text === 'none') return null
  if (!/^\d{1,12}(\.\d{1,9})?$/.test(text)) throw badField(field, 'expected a number, or none')
  return Number(text)
}

function onStore(command: LevelCommand, gateway: Gateway): Promise<JsonObject> {
  return gateway.onStore(async ({ keys: store, levels: held }, config) => {
    const source = { store, levels: held, configured: resolveKeys(config).keys, budgets: config.budgets, clock: systemClock }
    return runLevelCommand(command, { ...source, origin: commandOrigin() })
  })
}

function levelTable(kind: LevelKind, reply: JsonObject): string {
  const rows = asObjects(reply.data).map((level) => [
    String(kind === 'member' ? level.user_id : level.slug),
    String(level.name).replace(/\s+/g, ' '),
    String(level.id),
    level.disabled ? 'disabled' : 'in use',
    asObjects(level.budgets)
      .map(({ reset_interval: window, limit_usd: limit }) => `$${Number(limit).toFixed(2)} ${window ?? 'lifetime'}`)
      .join(', ') || '-',
    ratesText(level.rate_limits),
  ])
  return table([kind === 'member' ? 'user' : 'slug', 'name', 'id', 'state', 'limits', 'rates'], rows)
}

function ratesText(rates: JsonObject[string]): string {
  if (!isObject(rates)) return '-'
  const set = RATES.flatMap((rate) => (rates[rate] === null || rates[rate] === undefined ? [] : `${rates[rate]} ${rate}`))
  return set.join(', ') || '-'
}
