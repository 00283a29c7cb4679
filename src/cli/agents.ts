/** `headgate agents …`: what to paste so that a coding agent uses this gateway, and whether what it sends at its start would work. */
import { readConfig } from '../app/config-reader.ts'
import { AGENTS, type Agent, type AgentModel, type Place, ROLES, type Role } from '../config/agents/index.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problems.ts'
import { hint } from '../config/suggest.ts'
import { listenerUrl } from '../core/listener-url.ts'
import { buildCatalog, type Catalog } from '../routing/catalog/catalog.ts'
import { checkAgent } from './agents-check.ts'
import { CONSOLE, type Streams } from './console.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface AgentFlags {
  config?: string
  json?: boolean
  /** Model of an agent for which the configuration names none. */
  model?: string
  /** Address of the gateway, where that is not the one of the configuration. */
  url?: string
}

/** Stands where the key of a developer goes. */
const KEY = 'KEY'

/**
 * @param words behind `agents`: nothing or `list`, `show AGENT`, `check AGENT`.
 * @param env has the key for `check` in `HEADGATE_KEY`; it is never shown.
 * @returns the exit code: 1 where something would fail, 2 where the words make no command.
 */
export async function agents(
  words: readonly string[],
  flags: AgentFlags,
  streams: Streams = CONSOLE,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  const [verb = 'list', name, ...rest] = words
  const isOne = verb === 'show' || verb === 'check'
  if (rest.length > 0 || (!isOne && verb !== 'list') || isOne !== (name !== undefined)) {
    streams.error('headgate: agents: expected list, show AGENT or check AGENT')
    return 2
  }
  const agent = AGENTS.find((each) => each.name === name)
  if (name !== undefined && !agent) {
    const names = AGENTS.map((each) => each.name)
    streams.error(`headgate: there is no agent ${name}${hint(name, names)}; expected one of: ${names.join(', ')}`)
    return 1
  }
  try {
    const config = await readConfig(flags.config ?? SHIPPED_CONFIG, env)
    const catalog = buildCatalog(config)
    const places = (agent ? [agent] : AGENTS).map((each) => ({ agent: each, place: agentPlace(each, { config, catalog, flags }) }))
    const [first] = places
    if (verb === 'check' && first) return await checkAgent(first.agent, first.place, { streams, key: env.HEADGATE_KEY })
    streams.out(flags.json ? JSON.stringify(places.map(shownAsJson), undefined, 2) : places.map(shown).join('\n\n'))
    return 0
  } catch (error) {
    streams.error(error instanceof ConfigError ? error.message : `headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

interface Source {
  readonly config: Config
  readonly catalog: Catalog
  readonly flags: AgentFlags
}

/** Models by role: those of the configuration under the agent's own names, else one model under its slug. */
function agentPlace(agent: Agent, { config, catalog, flags }: Source): Place {
  const chosen = config.agents[agent.name] ?? {}
  const named = (name: string): AgentModel => {
    const model = catalog.find(name)?.model
    return {
      name,
      context: model?.context,
      maxOutput: model?.maxOutput,
      images: model?.anyInput !== true && model?.input.includes('image') === true,
      reasons: model?.endpoints.some((endpoint) => endpoint.supported?.has('reasoning')) === true,
    }
  }
  const main = flags.model ?? (chosen.main === undefined ? undefined : agent.names.main?.[0]) ?? config.defaultModel ?? firstModel(catalog)
  if (!catalog.find(main)) throw new Error(`no such model: ${main}`)
  const roleName = (role: Role): string => (flags.model === undefined && chosen[role] !== undefined && agent.names[role]?.[0]) || main
  const models = Object.fromEntries(ROLES.map((role) => [role, named(role === 'main' ? main : roleName(role))]))
  return {
    url: flags.url?.replace(/\/+$/, '') ?? gatewayAddress(config),
    key: KEY,
    models: models as Place['models'],
    servesOwnNames: flags.model === undefined && chosen.main !== undefined,
  }
}

function firstModel(catalog: Catalog): string {
  const model = catalog.models.find(({ kind }) => kind === 'generate')
  if (!model) throw new Error('the configuration has no model that generates text: name one with --model')
  return model.slug
}

function gatewayAddress({ server: { publicUrl, host, port, tls } }: Config): string {
  if (publicUrl !== undefined) return publicUrl
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return listenerUrl(tls ? 'https' : 'http', reached, port)
}

interface Placed {
  readonly agent: Agent
  readonly place: Place
}

function shown({ agent, place }: Placed): string {
  const blocks = agent.setUp(place).map(({ to, text }) => [`# ${to === 'shell' ? 'in a shell' : to}`, text].join('\n'))
  return [`== ${agent.title} (${agent.name}), by ${agent.package} ==`, ...blocks].join('\n')
}

function shownAsJson({ agent, place }: Placed): object {
  const { name, title, sources, format } = agent
  return { name, title, package: agent.package, sources, format, blocks: agent.setUp(place) }
}
