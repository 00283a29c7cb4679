/** Settings of moderation, the same for the engine of a guardrail and for the plugin. */
import { Type } from 'typebox'
import { line, listOf, mapOf, oneOf, withDefault } from './scalars.ts'

/** As `guardrails/moderation/types.ts` has them; a test compares the two. */
export const MODERATORS = ['openai', 'classifier', 'lexicon'] as const

const category = '^\\S.{0,99}$'
const CATEGORY_EXPECTED = 'the name of a category'

/** What belongs to moderation alone. */
export const moderationFields = {
  engine: withDefault(
    oneOf('Of moderation, what judges: an endpoint of the format of OpenAI; a classifier model; a list of your own words.', MODERATORS),
    'openai',
  ),
  model: Type.Optional(
    line('Of moderation: the model that judges. Without it `openai` uses omni-moderation-latest; `classifier` needs it.'),
  ),
  thresholds: Type.Optional(
    mapOf(
      'Of moderation by openai: least score of a category that counts. One without is judged by the endpoint itself.',
      category,
      CATEGORY_EXPECTED,
      Type.Number({ description: 'Score.', minimum: 0, maximum: 1 }),
    ),
  ),
  ignored_categories: Type.Optional(listOf('Of moderation: categories that do not count.', line('A category.', 100))),
  lexicon: Type.Optional(
    mapOf(
      'Of moderation by lexicon: words and phrases by category.',
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
