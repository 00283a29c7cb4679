/** Plugins: those that ship with the gateway, and the operator's own. */
import { Type } from 'typebox'
import { shippedPlugins } from '../../../plugins/registry.ts'
import { POLICY, type ShippedPlugin } from '../fields/plugin-settings.ts'
import { asWritten, closed, flag, line, listField, NAME, NAME_EXPECTED, withDefault } from '../fields/scalars.ts'

/** Ids that this version knows by name only. */
export const LATER_PLUGINS = ['auto-beta-router']

export const policy = closed('What the operator decides for any plugin.', POLICY)

const shipped = Object.fromEntries(Object.entries<ShippedPlugin>(shippedPlugins).map(([id, { settings }]) => [id, settings]))

/** Ids of the plugins that ship with this version. */
export const PLUGINS: readonly string[] = Object.keys(shipped)

/** Settings of the operator's own plugins are theirs to check. */
const own = Type.Object(
  { enabled: Type.Optional(flag('True: on for every request.')), ...POLICY },
  {
    description: "Settings of one of the operator's own plugins.",
    additionalProperties: false,
    patternProperties: { '^[A-Za-z][A-Za-z0-9_-]*$': {} },
    keyExpected: 'a name of letters, digits, dashes and underscores that begins with a letter',
  },
)

export const plugins = closed('Plugins that act on requests.', {
  load: withDefault(
    listField(
      "The operator's own plugins: files, relative to this one, or npm packages.",
      line('Such as ./plugins/mine.ts, or a package.', 1024),
    ),
    [],
  ),
  order: withDefault(
    listField('Plugins in the order in which they run.', Type.String({ description: 'A plugin.', pattern: NAME, expected: NAME_EXPECTED })),
    [],
  ),
  // A plugin reads its own settings, and those of a request have the same form.
  defaults: withDefault(
    asWritten(
      Type.Object(shipped, {
        description: "The operator's settings; fields of a request take precedence.",
        additionalProperties: false,
        patternProperties: { [NAME]: own },
        keyExpected: NAME_EXPECTED,
      }),
    ),
    {},
  ),
})
