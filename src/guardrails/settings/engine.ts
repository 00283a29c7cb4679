/** The settings of an engine that a guardrail calls: of the configuration alone. */
import { Type } from 'typebox'
import { moderationFields } from '../../config/fields/moderation.ts'
import { choiceField, closed, duration, line, listField, secret, url, withDefault } from '../../config/fields/scalars.ts'

export const ON_ERROR = ['closed', 'open'] as const

/** For one kind of engine alone. */
const presidioFields = {
  entities: Type.Optional(listField('For presidio: entity types to look for. If unset: all.', line('A kind such as PERSON.', 100), 1)),
  threshold: Type.Optional(Type.Number({ description: 'For presidio: lowest score that counts as a finding.', minimum: 0, maximum: 1 })),
}
const languageField = {
  language: withDefault(
    Type.String({ description: 'For presidio: language of the texts.', pattern: '^[a-z]{2}$', expected: 'two letters' }),
    'en',
  ),
}

export const engine = closed('An engine that checks every request.', {
  type: choiceField('Kind of engine.', ['presidio', 'webhook', 'moderation']),
  url: Type.Optional(
    url('Full address of a webhook; base address of a Presidio analyser; for moderation, the address that its engine needs.'),
  ),
  timeout: withDefault(duration('For each call.'), '2s'),
  on_error: withDefault(
    choiceField('If the engine does not answer: `closed` returns 503, `open` lets the request pass.', ON_ERROR),
    'closed',
  ),
  key: Type.Optional(secret('Sent as a bearer token.')),
  ...presidioFields,
  ...moderationFields,
  ...languageField,
})

type Names<Fields> = readonly (keyof Fields)[]

/** Which settings belong to one kind of engine; all have the others. */
export const OF_PRESIDIO = Object.keys({ ...presidioFields, ...languageField }) as Names<typeof presidioFields & typeof languageField>
export const OF_MODERATION = Object.keys(moderationFields) as Names<typeof moderationFields>
