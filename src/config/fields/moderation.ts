/** Settings of moderation, the same for the engine of a guardrail and for the plugin. */
import { Type } from 'typebox'
import { choiceField, line, listField, mapField, withDefault } from './scalars.ts'

/** As `guardrails/moderation/types.ts` has them; a test compares the two. */
export const MODERATORS = ['openai', 'classifier', 'lexicon'] as const

const category = '^\\S.{0,99}$'
const CATEGORY_EXPECTED = 'the name of a category'

/** Fields of moderation alone. */
export const moderationFields = {
  engine: withDefault(
    choiceField(
      'For moderation: `openai`, an endpoint in the format of OpenAI; `classifier`, a classifier model; `lexicon`, your own word list.',
      MODERATORS,
    ),
    'openai',
  ),
  model: Type.Optional(
    line('For moderation: the model that checks. Required for `classifier`. If unset: `openai` uses omni-moderation-latest.'),
  ),
  thresholds: Type.Optional(
    mapField(
      'For moderation by `openai`: lowest score that counts, by category. For other categories the endpoint decides.',
      category,
      CATEGORY_EXPECTED,
      Type.Number({ description: 'Score.', minimum: 0, maximum: 1 }),
    ),
  ),
  ignored_categories: Type.Optional(listField('For moderation: categories that are ignored.', line('A category.', 100))),
  lexicon: Type.Optional(
    mapField(
      'For moderation by `lexicon`: words and phrases by category.',
      category,
      CATEGORY_EXPECTED,
      Type.Array(Type.String({ description: 'Whatever its case.', pattern: '\\S', maxLength: 1000, expected: 'a word or phrase' }), {
        description: 'Words of the category.',
        minItems: 1,
        maxItems: 10_000,
      }),
    ),
  ),
}
