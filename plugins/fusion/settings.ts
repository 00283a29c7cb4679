/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { closed, flag, line, listField, NAME, NAME_EXPECTED, withDefault } from '../../src/config/fields/scalars.ts'

const panel = {
  analysis_models: Type.Optional(listField('Slugs of the members, 1 to 8.', line('A slug.', 256))),
  model: Type.Optional(line('Slug of the model that compares the answers; it also leads router/fusion.', 256)),
}

export const fusion: ShippedPlugin = {
  settings: pluginSettings('Asks a panel of models; its settings also apply to the tool fusion.', {
    enabled: Type.Optional(flag('True: offered to the model of every request.')),
    ...panel,
    preset: withDefault(line('Name of the panel where a request names none.', 256), 'general-high'),
    max_tool_calls: bounded('Tool steps of each member.', [1, 16], 8),
    tools: Type.Optional(
      listField(
        'Server tools of each member. If unset: web_search and web_fetch, as far as they are configured.',
        Type.Object(
          { type: line('Such as router:web_search.', 256), parameters: Type.Optional(Type.Object({}, { description: 'Of the tool.' })) },
          { description: 'A server tool.' },
        ),
      ),
    ),
    presets: Type.Optional(
      Type.Object(
        {},
        {
          description: 'Panels by name; general-high, general-budget and general-fast are built in.',
          additionalProperties: false,
          patternProperties: { [NAME]: closed('A panel.', panel) },
          keyExpected: NAME_EXPECTED,
        },
      ),
    ),
  }),
  acts: 'on request; for `router/fusion` and `router/fusion-flash`',
  does: 'Offers the tool [`fusion`](server-tools.md#routerfusion).',
  limits: '1 to 8 members.',
}
