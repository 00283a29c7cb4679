/** Description of one coding agent for the suite: its set-up, its start, and how a scripted model makes it work. */
import type { Place as SetUpPlace } from '../../src/config/agents/index.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Utterance, WireName } from '../support/wire.ts'
import type { OfferedTool, View } from './conversation.ts'
import type { Scenario } from './scenarios.ts'

export type Format = 'chat' | 'messages' | 'responses'

/** Folders of an agent's run: everything is thrown away afterwards, but the install. */
export interface Place {
  /** Folder of the install: `node_modules`, or a Python environment. */
  readonly install: string
  /** The agent's home: nothing of the user's own settings is read or written. */
  readonly home: string
  /** A repository of git with a few files, in which it works. */
  readonly work: string
  /** Name of what is run. */
  readonly scenario: string
  readonly wire: WireName
  readonly format: Format
  /** Variables of the agent's process beside PATH, HOME, TMPDIR and LANG; may be added to. */
  readonly env: Record<string, string>
}

/** The gateway as the agent is given it. */
export interface Account {
  /** Without a slash at its end. */
  readonly url: string
  readonly key: string
  readonly models: SetUpPlace['models']
}

/** Action that a scripted model wants done. */
export type Action =
  /** The files in the working directory. */
  | { readonly do: 'list' }
  /** Each file by a call of its own, all at once. */
  | { readonly do: 'read'; readonly files: readonly string[] }
  /** A new file. */
  | { readonly do: 'write'; readonly file: string; readonly text: string }
  /** Each command by a call of its own, all at once. */
  | { readonly do: 'run'; readonly commands: readonly string[] }
  /** A tool of the MCP server named `ledger`. */
  | { readonly do: 'mcp'; readonly tool: string; readonly args: JsonObject }
  /** An image file. */
  | { readonly do: 'look'; readonly file: string }
  /** Something that this agent alone can do. */
  | { readonly do: 'own'; readonly what: string }

/** One call of a tool of the agent. */
export interface ToolCall {
  readonly name: string
  readonly namespace?: string | undefined
  /** Text where the tool takes free text. */
  readonly args: JsonObject | string
}

/** Calls, or text where the agent takes its orders from text: empty where it does this without an order. */
export type Acts = readonly ToolCall[] | string

export interface CommandOptions {
  /** True where the last conversation goes on. */
  readonly resume?: boolean
  /** An image that goes with the prompt, for agents whose model cannot open one itself. */
  readonly image?: string
}

export interface CertifiedAgent {
  /** As in `src/config/agents/`, which has the package and the pinned version too. */
  readonly name: string
  readonly formats: readonly Format[]
  /** Scripts of the package that have to run at the install, of an agent that cannot run without. */
  readonly installScripts?: true
  /** Path of the program. */
  program(install: string): string
  /**
   * Part of the set-up beside that which `headgate agents show` prints, which has been written and run before; and the whole set-up
   * of a format for which that prints none. The MCP server is `MCP_SERVER` of `world.ts`.
   */
  prepare?(place: Place, account: Account, format: Format): void | Promise<void>
  /** Path of a file of the set-up whose name is not a path below the home. */
  outputFile?(place: Place, to: string): string
  /** Arguments of the program. */
  command(prompt: string, options: CommandOptions, place: Place): readonly string[]
  /** Calls by which the model makes this agent act; undefined where it cannot. */
  acts(action: Action, view: View, place: Place): Acts | undefined
  /** True for a request of the conversation itself; by default one that offers tools. */
  isMain?(view: View): boolean
  /** Answer of the model to another request, such as one for a title; by default a few words. */
  aside?(view: View): Utterance | undefined
  /** The request by which the agent has its conversation summarised. */
  readonly asksForSummary?: (view: View) => boolean
  /** True where the agent computes by what the provider counts of that request: the whole conversation, which fills the context. */
  readonly countsSummary?: true
  /** Form of the summary, around its text. */
  summary?(text: string): string
  /** A prompt that makes the agent compact; where absent it does so by itself, when its context is nearly full. */
  readonly compactCommand?: string
  /** Tokens at which the agent believes its context to be full; those of the model where absent. */
  contextTokens?(account: Account): number
  /** True where the model's signed reasoning comes back to it in this format. */
  returnsReasoning?(format: Format): boolean
  /** Why it does not come back after all from one wire: by format and wire, such as `messages gemini`. */
  readonly losesReasoning?: Readonly<Record<string, string>>
  /** Scenarios that this agent alone can do, beside the scenarios for all; one with the name of such a scenario stands in its place. */
  readonly own?: readonly Scenario[]
  /** YAML for the gateway's configuration. @param model slug of the model that the stand-in serves. */
  settings?(model: string): string
  /** Why a scenario is not run: by its name, or its name and a wire, such as `image openai-chat`. */
  readonly cannot?: Readonly<Record<string, string>>
}

/** The tool whose name or whole name matches. @throws Error where it is not offered, with the names that are. */
export function offered(view: View, name: RegExp): OfferedTool {
  const found = view.tools.find((tool) => name.test(tool.name) || name.test(`${tool.namespace ?? ''}${tool.name}`))
  if (!found) throw new Error(`no tool ${name} among ${view.tools.map((tool) => tool.name).join(', ')}`)
  return found
}

/** A call of a tool as it is offered. */
export const callTool = ({ name, namespace }: OfferedTool, args: JsonObject | string): ToolCall => ({ name, namespace, args })
