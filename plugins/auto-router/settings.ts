/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, flag, line, listField, withDefault } from '../../src/config/fields/scalars.ts'

const modelPatterns = (description: string) => listField(description, line('A slug, or a pattern such as openai/*.', 1024))

export const autoRouter: ShippedPlugin = {
  settings: pluginSettings('Chooses a model by the kind of the task.', {
    enabled: Type.Optional(flag('False: the prompt is not read; every task counts as `general`.')),
    allowed_models: Type.Optional(modelPatterns('Only these models; `*` stands for any text. If unset: all.')),
    excluded_models: Type.Optional(modelPatterns('Never these models, whatever is allowed.')),
    cost_quality_tradeoff: bounded('0: best quality at any cost. 10: cheapest.', [0, 10], 7),
    cost_tier: Type.Optional(
      choiceField('A price band; takes precedence over `cost_quality_tradeoff`.', ['low', 'medium', 'high', 'xhigh', 'max']),
    ),
    pin_model: withDefault(flag('True: a conversation keeps the model that its last reply names.'), false),
  }),
  acts: 'for `router/auto`',
  does: '[Chooses a model](router-models.md) by the kind of the task.',
}
