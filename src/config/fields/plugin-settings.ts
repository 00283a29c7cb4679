/** Building blocks for the settings of plugins that ship, which stand in the folder of each. */
import { type TObject, type TOptional, type TProperties, Type } from 'typebox'
import { choiceField, closed, duration, flag, line, listField, withDefault } from './scalars.ts'

/** Settings of the operator for any plugin; no request can. */
export const POLICY = {
  locked: withDefault(flag('True: a request may name the plugin but not change its settings or switch it off.'), false),
  on_error: Type.Optional(
    choiceField(
      'If the plugin fails: `fail` ends the request, `skip` goes on without the plugin. If unset: what the plugin declares, else `fail`.',
      ['fail', 'skip'],
    ),
  ),
  timeout: Type.Optional(
    duration('How long the plugin may work on a request before it counts as failed. If unset: what the plugin declares, else 30s.'),
  ),
}

/** Fields of every plugin beside its own settings. */
export type PolicySchema = TObject<typeof POLICY>

/** Facts of a plugin that ships, before its code is loaded. */
export interface ShippedPlugin {
  /** Schema of its settings in `plugins.defaults`. */
  settings: TOptional<PolicySchema>
  /** The cells of its row in docs/plugins.md: when it acts, what it does, and its limits. */
  acts: string
  does: string
  limits?: string
}

export function pluginSettings(description: string, own: TProperties): TOptional<PolicySchema> {
  return Type.Optional(closed(description, { ...own, ...POLICY }))
}

export const bounded = (description: string, [minimum, maximum]: readonly [number, number], value: number) =>
  withDefault(Type.Integer({ description, minimum, maximum }), value)

export const domains = (description: string) => listField(description, line('Such as example.com, *.example.com or example.com/blog.', 256))
