/** Presets that requests name as `@preset/name`. */
import { Type } from 'typebox'
import { asWritten, closed, flag, line, listOf, mapOf, modelSlug, oneOf, withDefault } from '../fields/scalars.ts'
import { preferences } from './preferences.ts'

const number = (description: string, minimum: number, maximum: number) => Type.Number({ description, minimum, maximum })
/** As in requests (`canon/bounds.ts`): what a preset sets is checked with the request that names it. */
const MOST_TOKENS = 2 ** 31 - 1
const tokens = (description: string) => Type.Integer({ description, minimum: 1, maximum: MOST_TOKENS })
const EXACT = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

const parameters = closed('Sampling and other request fields; fields that the request sends take precedence.', {
  temperature: Type.Optional(number('0 to 2.', 0, 2)),
  top_p: Type.Optional(number('0 to 1.', 0, 1)),
  top_k: Type.Optional(Type.Integer({ description: '0 for no limit.', minimum: 0, maximum: MOST_TOKENS })),
  min_p: Type.Optional(number('0 to 1.', 0, 1)),
  top_a: Type.Optional(number('0 to 1.', 0, 1)),
  frequency_penalty: Type.Optional(number('-2 to 2.', -2, 2)),
  presence_penalty: Type.Optional(number('-2 to 2.', -2, 2)),
  repetition_penalty: Type.Optional(number('0 to 2.', 0, 2)),
  seed: Type.Optional(Type.Integer({ description: 'Any integer.', ...EXACT })),
  max_tokens: Type.Optional(tokens('Output cap, sent in the field that the request format has for it.')),
  reasoning: Type.Optional(
    closed('Reasoning of the model.', {
      effort: Type.Optional(oneOf('Reasoning effort.', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
      max_tokens: Type.Optional(tokens('Most reasoning tokens.')),
      enabled: Type.Optional(flag('True: reasoning with medium effort. False: none.')),
      exclude: Type.Optional(flag('True: the reply does not show the reasoning.')),
      summary: Type.Optional(oneOf('Kind of reasoning summary in the reply.', ['auto', 'concise', 'detailed'])),
    }),
  ),
})

const preset = closed('One preset.', {
  description: Type.Optional(line('What it is for.', 1024)),
  model: Type.Optional(modelSlug('Model of requests that name only the preset.')),
  models: Type.Optional(listOf('Models to fall back on.', modelSlug('A model slug.'), 1)),
  system_prompt: Type.Optional(
    Type.String({ description: 'Put in front of the conversation.', minLength: 1, maxLength: 1_000_000, expected: 'a text' }),
  ),
  provider: Type.Optional(preferences),
  parameters: withDefault(asWritten(parameters), {}),
})

export const presets = mapOf('Presets by name.', '^[a-z0-9][a-z0-9-]{0,63}$', 'a name of small letters, digits and hyphens', preset)
