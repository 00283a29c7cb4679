/** Functions that the model is to be shown only once it has looked for them (`defer_loading`). */
import type { Opaque, ToolSpec } from './request.ts'

export type FunctionSpec = Extract<ToolSpec, { kind: 'function' }>

/** The field's name on every wire that has it, among the members kept beside the function, too. */
const FIELD = 'defer_loading'

export function isDeferred(spec: ToolSpec): spec is FunctionSpec {
  return spec.kind === 'function' && spec.deferLoading === true
}

/** The function as one that is shown from the beginning. */
export function loaded(spec: FunctionSpec): FunctionSpec {
  const { deferLoading: _, ...rest } = spec
  const { native } = spec as { native?: Opaque }
  if (native?.data[FIELD] === undefined) return rest
  const { [FIELD]: __, ...data } = native.data
  return Object.assign(rest, { native: { ...native, data } })
}

/** The tools for a provider that defers none: those that have been found, and all that are not deferred. */
export function shownTools(tools: readonly ToolSpec[], found: ReadonlySet<string>): ToolSpec[] {
  const kept = tools.filter((tool) => !isDeferred(tool) || found.has(tool.name))
  return kept.map((tool) => (isDeferred(tool) ? loaded(tool) : tool))
}

/** The result of a search for tools in words: the functions themselves are offered from then on. */
export function foundText(tools: readonly Pick<FunctionSpec, 'name' | 'description'>[]): string {
  const found = tools.map(({ name, description = '' }) => ({ name, description }))
  return JSON.stringify({ tools: found, total_results: found.length })
}
