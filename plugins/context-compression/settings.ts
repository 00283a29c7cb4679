/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, flag, withDefault } from '../../src/config/fields/scalars.ts'

export const contextCompression: ShippedPlugin = {
  settings: pluginSettings('Removes the middle of a conversation that does not fit the context.', {
    enabled: Type.Optional(flag('True: on for every model. If unset: on for models with a context of at most 8192 tokens.')),
    engine: withDefault(choiceField('How it is cut.', ['middle-out']), 'middle-out'),
  }),
  acts: "by itself where the first model's context is at most 8,192 tokens; else on request",
  does: 'Leaves out the middle of what does not fit.',
  limits: 'Engine `middle-out`. Instructions and the last user message stay.',
}
