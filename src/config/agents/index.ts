/** The coding agents that the gateway knows, and the aliases that the setting `agents` stands for. A new one is a file here and its line in `AGENTS`. */
import { type Agent, ROLES, type Role } from './agent.ts'
import { aider } from './aider.ts'
import { claudeCode } from './claude-code.ts'
import { cline } from './cline.ts'
import { codex } from './codex.ts'
import { llm } from './llm.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { qwenCode } from './qwen-code.ts'

export type { Agent, AgentModel, Place, Role, Start } from './agent.ts'
export { ROLES } from './agent.ts'

export const AGENTS: readonly Agent[] = [claudeCode, codex, opencode, cline, aider, qwenCode, pi, llm]

/** Models by agent and role. */
export type AgentModels = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface AgentAlias {
  readonly alias: string
  /** Slug of a model, or another alias. */
  readonly target: string
  readonly agent: string
  readonly role: Role
}

/** The aliases of the setting `agents`: each name once, that of the later role. */
export function agentAliases(chosen: AgentModels = {}): AgentAlias[] {
  const found = new Map<string, AgentAlias>()
  for (const { name: agent, names } of AGENTS)
    for (const role of ROLES) {
      const target = chosen[agent]?.[role]
      if (target !== undefined) for (const alias of names[role] ?? []) found.set(alias, { alias, target, agent, role })
    }
  return [...found.values()]
}
