/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { flag } from '../../src/config/fields/scalars.ts'

export const responseHealing: ShippedPlugin = {
  settings: pluginSettings('Repairs replies that should be JSON and are not.', {
    enabled: Type.Optional(flag('True: on for every request that wants JSON.')),
  }),
  acts: 'on request, for answers that are to be JSON',
  does: 'Mends broken JSON, in streams too.',
  limits: 'Whole answers of up to 262,144 characters; streams of any length. What was cut off is not mended.',
}
