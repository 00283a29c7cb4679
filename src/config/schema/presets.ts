/** Presets that requests name as `@preset/name`. */
import { Type } from 'typebox'
import { MAX_COUNT, PARAMETERS, PRESET_PARAMETERS } from '../../core/parameters.ts'
import { asWritten, choiceField, closed, flag, line, listField, mapField, modelSlug, withDefault } from '../fields/scalars.ts'
import { preferences } from './preferences.ts'

const tokens = (description: string) => Type.Integer({ description, minimum: 1, maximum: MAX_COUNT })

/** As in requests: what a preset sets is checked with the request that names it. */
const plainParameters = Object.fromEntries(
  PRESET_PARAMETERS.map((name) => {
    const { kind, range: [minimum = 0, maximum = 0] = [], text: description = `${minimum} to ${maximum}.` } = PARAMETERS[name]
    const options = { description, minimum, maximum }
    return [name, Type.Optional(kind === 'integer' ? Type.Integer(options) : Type.Number(options))]
  }),
)

const parameters = closed('Sampling and other request fields; fields that the request sends take precedence.', {
  ...plainParameters,
  // Not every format has a word for no limit beside 0.
  top_k: Type.Optional(Type.Integer({ description: '0 for no limit.', minimum: 0, maximum: MAX_COUNT })),
  max_tokens: Type.Optional(tokens('Output cap, sent in the field that the request format has for it.')),
  reasoning: Type.Optional(
    closed('Reasoning of the model.', {
      effort: Type.Optional(choiceField('Reasoning effort.', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
      max_tokens: Type.Optional(tokens('Most reasoning tokens.')),
      enabled: Type.Optional(flag('True: reasoning with medium effort. False: none.')),
      exclude: Type.Optional(flag('True: the reply does not show the reasoning.')),
      summary: Type.Optional(choiceField('Kind of reasoning summary in the reply.', ['auto', 'concise', 'detailed'])),
    }),
  ),
})

const preset = closed('One preset.', {
  description: Type.Optional(line('What it is for.', 1024)),
  model: Type.Optional(modelSlug('Model of requests that name only the preset.')),
  models: Type.Optional(listField('Models to fall back on.', modelSlug('A model slug.'), 1)),
  system_prompt: Type.Optional(
    Type.String({ description: 'Put in front of the conversation.', minLength: 1, maxLength: 1_000_000, expected: 'a text' }),
  ),
  provider: Type.Optional(preferences),
  parameters: withDefault(asWritten(parameters), {}),
})

export const presets = mapField('Presets by name.', '^[a-z0-9][a-z0-9-]{0,63}$', 'a name of small letters, digits and hyphens', preset)
