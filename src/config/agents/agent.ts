/** Facts of a coding agent: its names for models, its settings for this gateway, and its first requests. */
import type { JsonObject } from '../../core/json.ts'

/** Purposes of models in an agent; an agent without one of them uses `main`. */
export const ROLES = ['main', 'plan', 'small', 'background'] as const
export type Role = (typeof ROLES)[number]

/** A model as an agent is given it. */
export interface AgentModel {
  /** Values of `model` that the agent sends. */
  readonly name: string
  /** Tokens; undefined where the model does not declare them. */
  readonly context: number | undefined
  readonly maxOutput: number | undefined
  /** True where the model declares that it reads images. */
  readonly images?: boolean
  /** True where an endpoint of the model declares that it takes a reasoning effort. */
  readonly reasons?: boolean
}

/** Inputs of an agent's set-up. */
export interface Place {
  /** Address of the gateway without a slash at its end. */
  readonly url: string
  /** Text in place of the key. */
  readonly key: string
  readonly models: { readonly [role in Role]: AgentModel }
  /** True where the gateway serves the names that the agent sends by itself, so that it needs no others. */
  readonly servesOwnNames: boolean
}

/** A piece of the set-up that is pasted. */
export interface Block {
  /** Path of a file, or `shell` for lines of a shell. */
  readonly to: string
  readonly text: string
}

/** A request that the agent sends at its start, but for its model and its conversation. */
export interface Start {
  readonly role: Role
  readonly tools: boolean
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

export interface Agent {
  /** As in the configuration and on the command line. */
  readonly name: string
  readonly title: string
  /** The package and the version that the facts are of. */
  readonly package: string
  readonly sources: readonly string[]
  readonly format: 'chat' | 'messages' | 'responses'
  /** Names of models that the agent sends for a role; a role that stands later takes a name from an earlier one. */
  readonly names: { readonly [role in Role]?: readonly string[] }
  setUp(place: Place): readonly Block[]
  readonly starts: readonly Start[]
}

/** JSON as it stands in a file. */
export const jsonText = (value: object): string => JSON.stringify(value, undefined, 2)

/** The models of a place, each once. */
export function distinctModels({ models }: Place): AgentModel[] {
  const byName = new Map(Object.values(models).map((model) => [model.name, model]))
  return [...byName.values()]
}
