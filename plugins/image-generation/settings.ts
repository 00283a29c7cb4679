/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { flag, line } from '../../src/config/fields/scalars.ts'

export const imageGeneration: ShippedPlugin = {
  settings: pluginSettings('Offers the tool image_generation.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    model: Type.Optional(line('Slug of the image model for requests that name none. If unset: the first model that makes images.', 256)),
  }),
  acts: 'on request',
  does: 'Offers the tool [`image_generation`](server-tools.md#routerimage_generation).',
}
