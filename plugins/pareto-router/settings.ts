/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, flag, withDefault } from '../../src/config/fields/scalars.ts'

export const paretoRouter: ShippedPlugin = {
  settings: pluginSettings('Chooses the cheapest model that codes well enough.', {
    enabled: Type.Optional(flag('Accepted, as for every plugin. False with `locked`: requests cannot name the plugin.')),
    min_coding_score: withDefault(
      Type.Number({ description: 'Tier of coding scores: high from 0.66, medium from 0.33, else low.', minimum: 0, maximum: 1 }),
      0.66,
    ),
    max_price: Type.Optional(Type.Number({ description: 'USD per million tokens; replaces the choice by tier.', minimum: 0 })),
    price_source: withDefault(choiceField('The price that `max_price` limits.', ['prompt', 'weighted_avg']), 'prompt'),
  }),
  acts: 'for `router/pareto-code`',
  does: 'Chooses a model for code by quality and price.',
}
