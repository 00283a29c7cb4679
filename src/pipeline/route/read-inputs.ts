/** Kinds of input that plugins turn into words, so that endpoints which do not take them may serve all the same. */
import type { PluginSetting } from '../dependencies.ts'
import type { Aimed } from '../exchange.ts'

export interface ReadInputs {
  /** Whatever an endpoint takes. */
  readonly always: ReadonlySet<string>
  /** Kinds that are read only where no endpoint takes them. */
  readonly otherwise: ReadonlySet<string>
}

export const NOT_READ: ReadInputs = { always: new Set(), otherwise: new Set() }

/** Kinds of input that plugins would read, by the operator's settings and the request's own. */
export function readInputs(
  {
    demand: {
      plugins: entries,
      models: [first],
    },
  }: Aimed,
  plugins: readonly PluginSetting[],
): ReadInputs {
  let found: { always: Set<string>; otherwise: Set<string> } | undefined
  for (const { plugin, defaults } of plugins) {
    const { reads } = plugin
    if (!reads) continue
    const entry = entries.find(({ id }) => id === plugin.id)
    // To name a plugin is to switch it on.
    const settings = entry ? { ...defaults, enabled: true, ...entry } : defaults
    const when = settings.enabled === false ? 'never' : reads.when(settings)
    if (when === 'never') continue
    found ??= { always: new Set(), otherwise: new Set() }
    // The model that the caller named first is not to be skipped in favour of a fallback.
    const now = when === 'always' || (first !== undefined && !first.input.includes(reads.input))
    found[now ? 'always' : 'otherwise'].add(reads.input)
  }
  return found ?? NOT_READ
}

/** @returns undefined where nothing is left. */
export function without(inputs: ReadonlySet<string>, read: ReadonlySet<string>): ReadonlySet<string> | undefined {
  if (read.size === 0) return inputs
  const left = new Set([...inputs].filter((input) => !read.has(input)))
  return left.size > 0 ? left : undefined
}
