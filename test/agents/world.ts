/** World in which the agents run: the real gateway before a strict stand-in of one provider wire, and the agent as a process with a home of its own. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { agents } from '../../src/cli/agents.ts'
import { AGENTS, type Place as SetUpPlace } from '../../src/config/agents/index.ts'
import { configuration, environment, presetRoot } from '../providers/matrix.ts'
import { RULES } from '../providers/rules/index.ts'
import { type StandIn, startStandIn } from '../providers/stand-in.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import type { WireName } from '../support/wire.ts'
import type { Account, CertifiedAgent, Format, Place } from './agent-run.ts'
import { endAllIn, startProcess } from './start-process.ts'

/** The preset and the model that stand for each wire. */
const STAND_INS: Readonly<Record<WireName, { preset: string; model: string }>> = {
  'openai-chat': { preset: 'openai-chat', model: 'openai-chat/gpt-5.4' },
  'openai-responses': { preset: 'openai', model: 'openai/gpt-6-astra' },
  anthropic: { preset: 'anthropic', model: 'anthropic/claude-sonnet-5.5' },
  gemini: { preset: 'gemini', model: 'google/gemini-3.8-flash' },
}
export const WIRE_NAMES = Object.keys(STAND_INS) as WireName[]

/** Start of the MCP server named `ledger`. */
export const MCP_SERVER = { name: 'ledger', command: process.execPath, args: [join(import.meta.dirname, 'mcp-server.ts')] } as const

interface Block {
  readonly to: string
  readonly text: string
}

/** Options of a stage. */
export interface Surroundings {
  readonly wire: WireName
  readonly gateway: Gateway
  readonly account: Account
  /** Output of `headgate agents show`. */
  readonly blocks: readonly Block[]
  close(): Promise<void>
}

export interface World extends Surroundings {
  readonly standIn: StandIn
}

/** Output of the command line for this agent, with this configuration. */
async function shownBlocks(agent: string, config: string, { url, env }: { url: string; env: Record<string, string> }): Promise<Block[]> {
  const lines: string[] = []
  const streams = { out: (line: string) => void lines.push(line), error: (line: string) => void lines.push(line) }
  const code = await agents(['show', agent], { config, json: true, url }, streams, env)
  if (code !== 0) throw new Error(`headgate agents show ${agent}: ${lines.join('\n')}`)
  const [shown] = JSON.parse(lines.join('\n')) as { blocks: Block[] }[]
  return shown.blocks
}

async function listModels(gateway: Gateway, agent: string, slug: string): Promise<SetUpPlace['models']> {
  const reply = (await (await gateway.get('/v1/models')).json()) as {
    data: { id: string; context_length?: number | null; top_provider?: { max_completion_tokens?: number | null } }[]
  }
  const known = reply.data.find(({ id }) => id === slug)
  const name = AGENTS.find((each) => each.name === agent)?.names.main?.[0] ?? slug
  // The list has null where a model declares none.
  const model = { name, context: known?.context_length ?? undefined, maxOutput: known?.top_provider?.max_completion_tokens ?? undefined }
  return { main: model, plan: model, small: model, background: model }
}

/** The setting `agents` by which this model serves every role of the agent. */
function rolesYaml(agent: string, model: string): string {
  const roles = Object.keys(AGENTS.find(({ name }) => name === agent)?.names ?? {}).map((role) => `${role}: ${model}`)
  return `agents: { ${agent}: { ${roles.join(', ')} } }\n`
}

interface Setting {
  readonly wire: WireName
  readonly model: string
  readonly text: string
  readonly env: Record<string, string>
}

async function openGateway(agent: string, { wire, model, text, env }: Setting): Promise<Surroundings> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-agents-'))
  const gateway = await startGateway(text, { directory, env })
  const blocks = await shownBlocks(agent, join(directory, 'headgate.yaml'), { url: gateway.url, env })
  return {
    wire,
    gateway,
    account: { url: gateway.url, key: gateway.key, models: await listModels(gateway, agent, model) },
    blocks,
    close: async () => {
      await gateway.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export async function openWorld({ name: agent, settings }: CertifiedAgent, wire: WireName): Promise<World> {
  const { preset, model } = STAND_INS[wire]
  const rules = RULES.filter((each) => each.preset === preset)
  const standIn = await startStandIn(rules[0], presetRoot(preset))
  const text = configuration([standIn], `${rolesYaml(agent, model)}${settings?.(model) ?? ''}`)
  const around = await openGateway(agent, { wire, model, text, env: environment(rules) })
  const close = async (): Promise<void> => {
    await around.close()
    await standIn.close()
  }
  return { ...around, standIn, close }
}

/** A gateway that has no provider but the simulated one. No wire is spoken; the place of the agent names one. */
export function openSample({ name: agent }: CertifiedAgent): Promise<Surroundings> {
  const model = 'sim/agent'
  const text = `
providers: { sim: { dialect: sim } }
models: { ${model}: { context: 131072, max_output: 32768, endpoints: [ { provider: sim, model: agent, price: free } ] } }
${rolesYaml(agent, model)}`
  return openGateway(agent, { wire: 'openai-chat', model, text, env: {} })
}

/** A red square. */
function png(): Buffer {
  const side = 32
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length, 0)
    ends.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const head = Buffer.from([0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0])
  const line = Buffer.from([0, ...Array.from({ length: side }, () => [220, 20, 20]).flat()])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: side }, () => line)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

export const FILES = { alpha: 'alpha.txt', beta: 'beta.txt', big: 'big.txt', image: 'red.png' } as const
/** Words that stand in the files, and nowhere else. */
export const WORDS = { alpha: 'marigold', beta: 'quicksilver' } as const
export const BIG = 300 * 1024

function fill(work: string): void {
  writeFileSync(join(work, FILES.alpha), `The first word is ${WORDS.alpha}.\n`)
  writeFileSync(join(work, FILES.beta), `The second word is ${WORDS.beta}.\n`)
  const lines = Array.from(
    { length: Math.ceil(BIG / 60) },
    (_, at) => `line ${String(at).padStart(5, '0')} of the big file, which is long enough to fill it`,
  )
  writeFileSync(join(work, FILES.big), `${lines.join('\n')}\n`)
  writeFileSync(join(work, FILES.image), png())
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], { cwd: work, stdio: 'ignore' })
  git('init')
  git('config', 'user.name', 'A Developer')
  git('config', 'user.email', 'developer@example.com')
  git('add', '.')
  git('commit', '-m', 'Begin')
}

export interface Stage<SomeWorld = World> {
  readonly agent: CertifiedAgent
  readonly world: SomeWorld
  readonly place: Place
  remove(): void
}

/** A fresh home and working directory, set up as `headgate agents show` says and the agent's own file adds. */
export async function setStage<SomeWorld extends Surroundings>(
  agent: CertifiedAgent,
  world: SomeWorld,
  { install, scenario, format }: { install: string; scenario: string; format: Format },
): Promise<Stage<SomeWorld>> {
  const root = mkdtempSync(join(tmpdir(), 'headgate-agent-'))
  const home = join(root, 'home')
  const work = join(root, 'work')
  // Codex makes no programs of its own below the directory for temporary files: this is one beside the home.
  for (const path of [home, work, join(root, 'tmp')]) mkdirSync(path)
  fill(work)
  const place: Place = { install, home, work, scenario, wire: world.wire, format, env: {} }
  const isShown = AGENTS.find(({ name }) => name === agent.name)?.format === format
  if (isShown)
    for (const block of world.blocks) await paste(agent, place, { ...block, text: block.text.replace(/\bKEY\b/g, world.account.key) })
  await agent.prepare?.(place, world.account, format)
  const remove = (): void => {
    endAllIn(home)
    rmSync(root, { recursive: true, force: true })
  }
  return { agent, world, place, remove }
}

async function paste(agent: CertifiedAgent, place: Place, { to, text }: Block): Promise<void> {
  if (to !== 'shell') {
    const path = to.startsWith('~/') ? join(place.home, to.slice(2)) : agent.outputFile?.(place, to)
    if (path === undefined) throw new Error(`the agent's file does not say where ${to} is`)
    mkdirSync(dirname(path), { recursive: true })
    return writeFileSync(path, text)
  }
  for (const line of text.split('\n')) {
    const variables = /^export (.*)$/.exec(line)?.[1].split(' ')
    if (variables) for (const each of variables) place.env[each.slice(0, each.indexOf('='))] = each.slice(each.indexOf('=') + 1)
    else if (line.trim() !== '') {
      const { code, out, err } = await startProcess(agent, place, ['sh', '-c', line]).ended
      if (code !== 0) throw new Error(`${line}: ${out}${err}`)
    }
  }
}

/** Content of a repository of git after the agent's work. */
export function committed(work: string): { subject: string; files: string } {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: work, encoding: 'utf8' }).trim()
  return { subject: git('log', '-1', '--format=%s'), files: git('show', '--stat', '--format=', 'HEAD') }
}

/** The text of a file in the working directory; undefined where there is none. */
export function textIn(work: string, file: string): string | undefined {
  try {
    return readFileSync(join(work, file), 'utf8')
  } catch {
    return undefined
  }
}

/** Keeps the working directory and home of a failed run, and what the provider refused: where `HEADGATE_KEEP` says. */
export function keep({ place, world }: Stage, name: string): void {
  const folder = process.env.HEADGATE_KEEP
  if (!folder) return
  cpSync(dirname(place.work), join(folder, name), { recursive: true })
  const requests = { refused: world.standIn.refused, last: world.standIn.accepted.at(-1) }
  writeFileSync(join(folder, name, 'requests.json'), JSON.stringify(requests, undefined, 1))
}
