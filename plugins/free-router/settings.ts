/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { flag } from '../../src/config/fields/scalars.ts'

export const freeRouter: ShippedPlugin = {
  settings: pluginSettings('Chooses among the models that cost nothing.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
  }),
  acts: 'for `router/free`',
  does: 'Chooses among models that cost nothing.',
}
