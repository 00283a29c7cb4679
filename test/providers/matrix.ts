/** Runs the two-turn matrix: every stand-in behind one gateway with the shipped presets and catalogue, every client format, streamed and not. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { providerPreset } from '../../src/config/provider-presets.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type FoldedReply, list, object } from '../support/fold.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { CLIENTS, type Client } from '../support/matrix/clients.ts'
import { collected } from './collect.ts'
import { RULES } from './rules/index.ts'
import type { Scenario, Turn } from './scenarios.ts'
import { type RuledModel, type Rules, SECRET, type StandIn, startStandIn } from './stand-in.ts'

const CATALOGUE = fileURLToPath(new URL('../../config/catalog/', import.meta.url))

/** Providers of the shipped catalogue; those without a stand-in have no key and are left out. */
const SHIPPED: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  qwen: 'qwen',
  cohere: 'cohere',
  voyage: 'voyage',
  groq: 'groq',
  together: 'together',
  fireworks: 'fireworks',
  deepinfra: 'deepinfra',
}

/** Providers whose signed reasoning other providers meet when a caller switches models. */
const SIGNING = ['openai', 'anthropic', 'gemini']

const ruleSlug = (rules: Rules): string => rules.slug ?? rules.preset

/** The path of a preset's address, such as `/v1`. */
export function presetRoot(preset: string): string {
  const { base_url: address } = providerPreset(preset).provider
  const path = /^(?:https?:\/\/[^/]+|\$\{[^}]+\})(\/.*?)?\/?$/.exec(String(address))?.[1] ?? ''
  return path.replace(/\$\{[^}]+\}/g, SECRET)
}

/** YAML of a gateway with these stand-ins as its providers, and the shipped catalogue. @param yaml stands in front. */
export function configuration(standIns: readonly StandIn[], yaml: string): string {
  const ruled = new Map(standIns.map((standIn) => [ruleSlug(standIn.rules), standIn]))
  const own = [...ruled].map(([slug, { rules, url }]) => {
    // A key in place of what a cloud would give: how tokens are fetched is tested in `test/credentials/`.
    const settings = rules.settings ?? (providerPreset(rules.preset).provider.credential ? `key: ${SECRET}` : undefined)
    const more = settings === undefined ? '' : `, ${settings}`
    return `  ${slug}: { preset: ${rules.preset}, base_url: "${url}${presetRoot(rules.preset)}"${more} }`
  })
  const others = Object.entries(SHIPPED).filter(([slug]) => !ruled.has(slug))
  const files = readdirSync(CATALOGUE).filter((name) => name.endsWith('.yaml'))
  const models = standIns.flatMap(({ rules }) =>
    rules.models.filter(({ entry }) => entry !== undefined).map(({ slug, entry }) => `  ${slug}:\n${entry?.replace(/^/gm, '    ')}`),
  )
  return `${yaml}
providers:
${own.join('\n')}
${others.map(([slug, preset]) => `  ${slug}: { preset: ${preset} }`).join('\n')}
catalog: [ ${files.map((name) => `"${CATALOGUE}${name}"`).join(', ')} ]
models:${models.length > 0 ? `\n${models.join('\n')}` : ' {}'}
`
}

/** The variables that the presets of these rules read. */
export function environment(rules: readonly Rules[]): Record<string, string> {
  const names = rules.flatMap(({ preset }) => Object.keys(providerPreset(preset).variables))
  return Object.assign(Object.fromEntries(names.map((name) => [name, SECRET])), ...rules.map(({ variables }) => variables))
}

export interface Matrix {
  readonly gateway: Gateway
  readonly standIns: readonly StandIn[]
  run(cell: Cell): Promise<Outcome>
}

export interface Cell {
  readonly standIn: StandIn
  readonly model: RuledModel
  readonly scenario: Scenario
  readonly client: Client
  readonly stream: boolean
}

/** Outcome of one conversation. */
export interface Outcome {
  /** Fields that the gateway left out, by the record of the generations at this provider, sorted. */
  readonly dropped: readonly string[]
  /** Status and message, where the gateway itself refused the request. */
  readonly refused?: string
  /** Defects: a refusal of the provider, a wrong reply. */
  readonly problems: readonly string[]
  /** Signed texts that came back to the provider that had signed them. */
  readonly returned: number
}

/** Starts a gateway before these stand-ins; all stop when `root` ends. @param yaml more of its configuration. */
export async function startMatrix(root: Pick<Test, 'teardown'>, rules: readonly Rules[] = RULES, yaml = ''): Promise<Matrix> {
  const standIns: StandIn[] = []
  for (const each of rules) standIns.push(await startStandIn(each, presetRoot(each.preset)))
  root.teardown(() => Promise.all(standIns.map((standIn) => standIn.close())))
  const gateway = await startGateway(configuration(standIns, yaml), { env: environment(rules) })
  root.teardown(() => gateway.close())
  return { gateway, standIns, run: (cell) => runCell(gateway, standIns, cell) }
}

export interface Reply {
  whole: JsonObject
  folded: FoldedReply
  id: string
}

/** @returns the reply, or status and message of a refusal of the gateway. */
export async function send(
  gateway: Gateway,
  { client, stream }: Pick<Cell, 'client' | 'stream'>,
  body: JsonObject,
): Promise<Reply | string> {
  const response = await gateway.post(client.path, { ...body, stream })
  const text = await response.text()
  if (response.status !== 200) return `${response.status} ${text}`
  const whole = stream ? collected(client.id, text) : (JSON.parse(text) as JsonObject)
  const folded = stream ? client.foldStream(text) : client.fold(whole)
  return { whole, folded, id: response.headers.get('x-generation-id') ?? '' }
}

/** Parameters that the record of a generation lists as left out, at any of its providers. */
export async function droppedAt(gateway: Gateway, id: string): Promise<string[]> {
  const found = await gateway.get(`/v1/generation?id=${id}`)
  return list(object(((await found.json()) as JsonObject).data).provider_responses).flatMap(({ dropped }) =>
    Array.isArray(dropped) ? dropped.map(String) : [],
  )
}

async function runCell(gateway: Gateway, standIns: readonly StandIn[], cell: Cell): Promise<Outcome> {
  const { scenario, model, standIn } = cell
  const turns = scenario.turns(model)
  if (!turns.some(({ by }) => by === 'elsewhere')) return runTurns(gateway, { ...cell, elsewhere: standIn }, turns)
  const others = standIns.filter(({ rules }) => SIGNING.includes(rules.preset) && rules !== standIn.rules)
  const outcomes: Outcome[] = []
  for (const elsewhere of others) outcomes.push(await runTurns(gateway, { ...cell, elsewhere }, turns))
  return {
    dropped: [...new Set(outcomes.flatMap(({ dropped }) => dropped))].sort(),
    problems: outcomes.flatMap(({ problems }) => problems),
    returned: 0,
    ...outcomes.find(({ refused }) => refused !== undefined),
  }
}

async function runTurns(gateway: Gateway, cell: Cell & { elsewhere: StandIn }, turns: readonly Turn[]): Promise<Outcome> {
  const { client, standIn, elsewhere } = cell
  const replies: Reply[] = []
  const dropped = new Set<string>()
  const problems: string[] = []
  standIn.signatures.returned = 0
  for (const [index, turn] of turns.entries()) {
    const away = turn.by === 'elsewhere'
    const by = away ? elsewhere : standIn
    const model = away ? by.rules.models[0] : cell.model
    by.utterance = turn.says
    const refusals = by.refused.length
    const body = client.write(
      turn.asks(
        replies.map(({ whole }) => whole),
        replies.map(({ folded }) => folded),
      ),
    )
    const reply = await send(gateway, cell, { model: model.slug, ...body, ...model.more, ...cell.scenario.more })
    const where = `turn ${index + 1}${away ? ` at ${by.rules.preset}` : ''}`
    for (const { refusal, body } of by.refused.slice(refusals))
      problems.push(
        `${where}: the provider refused with ${refusal.status} ${JSON.stringify(refusal.body)} what was sent: ${JSON.stringify(body)}`,
      )
    if (typeof reply === 'string') {
      if (problems.length > 0) return { dropped: [...dropped].sort(), problems, returned: 0 }
      return { dropped: [...dropped].sort(), refused: reply, problems, returned: 0 }
    }
    const wrong = turn.wrong(reply.folded)
    if (wrong !== undefined) problems.push(`${where}: ${wrong}`)
    replies.push(reply)
    if (!away) for (const name of await droppedAt(gateway, reply.id)) dropped.add(name)
  }
  return { dropped: [...dropped].sort(), problems, returned: standIn.signatures.returned }
}

/** Every cell that applies, in the order of the stand-ins and scenarios. */
export function standInCells(standIns: readonly StandIn[], scenarios: readonly Scenario[]): Cell[] {
  return standIns.flatMap((standIn) =>
    standIn.rules.models.flatMap((model) =>
      scenarios
        .filter(({ applies }) => applies?.(model) ?? true)
        .flatMap((scenario) =>
          CLIENTS.flatMap((client) => [false, true].map((stream): Cell => ({ standIn, model, scenario, client, stream }))),
        ),
    ),
  )
}
