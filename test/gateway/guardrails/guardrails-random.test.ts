/** Random bodies for guardrails: each is refused with the field, or saved, shown as it was sent, and in force. Runs with `npm run test:servers`. */
import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'
import { answeredData, guardrailScene, HASHES, SECRETS } from '../../support/guardrail-scene.ts'
import { property } from '../../support/seed.ts'

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', ' ', 'x', 'acme/one', 'acme/*', 'uno', 'first', '*', '\u0000', '\ud800', '__proto__'),
)
const amount = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, -0, 0.1, 1e-9, 1e-7, 9_000_000, 123.456789012))
const action = fc.constantFrom('flag', 'redact', 'block')
const filter = fc.record(
  { pattern: fc.oneof(text, fc.constantFrom('a+', '(?i)b', '[', '\\d{4}', '(?=x)')), action, label: fc.option(text) },
  { requiredKeys: ['pattern', 'action'] },
)
const builtin = fc.record(
  {
    slug: fc.constantFrom('email', 'ssn', 'regex-prompt-injection', 'passport'),
    action,
    scan_scope: fc.constantFrom('user_only', 'x'),
    label: text,
  },
  { requiredKeys: ['slug', 'action'] },
)
const names = fc.array(text, { maxLength: 3 })
const flag = fc.boolean()

const good: Record<string, fc.Arbitrary<unknown>> = {
  description: text,
  limit_usd: amount,
  reset_interval: fc.constantFrom('daily', 'weekly', 'monthly'),
  include_byok_in_budgets: flag,
  allowed_models: names,
  ignored_models: names,
  allowed_providers: names,
  ignored_providers: names,
  enforce_zdr: flag,
  enforce_zdr_openai: flag,
  enable_free_model_training: flag,
  enable_paid_model_training: flag,
  content_filters: fc.array(filter, { maxLength: 3 }),
  content_filter_builtins: fc.array(builtin, { maxLength: 3 }),
  phrases: fc.array(text, { maxLength: 3 }),
  allowed_phrases: fc.array(text, { maxLength: 3 }),
  action,
  direction: fc.constantFrom('input', 'output', 'both'),
  restore: flag,
  max_price: fc.record({ prompt: fc.oneof(amount, fc.constantFrom('0.5', '1e3', '')), request: amount }, { requiredKeys: [] }),
  require_parameters: flag,
  audit: fc.constantFrom('hashes', 'full'),
}
/** Of each body most fields are as they should be, some are null, and some are anything. */
const field = ([name, values]: [string, fc.Arbitrary<unknown>]) => [
  name,
  fc.oneof(
    { weight: 12, arbitrary: values },
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  ),
]
const fields = fc.record(Object.fromEntries(Object.entries(good).map(field)) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] })
const few = fields.chain((all) =>
  fc.subarray(Object.keys(all), { maxLength: 4 }).map((kept) => Object.fromEntries(kept.map((name) => [name, all[name]]))),
)

/** Shown form of a field; lists of models show slugs in place of aliases. */
const SHOWN = [
  'description',
  'limit_usd',
  'reset_interval',
  'content_filters',
  'phrases',
  'action',
  'direction',
  'max_price',
  'audit',
] as const

t.test('any body', async (t) => {
  const scene = await guardrailScene(t)
  const id = await scene.make({ name: 'changed' }, HASHES.other)
  const counts = { saved: 0, refused: 0 }
  const checked = async (method: string, path: string, body: JsonObject): Promise<JsonObject | undefined> => {
    const told = await scene.call(method, path, body)
    if (told.status === 400) {
      counts.refused++
      const { metadata } = object(told.body.error)
      if (typeof object(metadata).field !== 'string') throw new Error(`no field: ${JSON.stringify(told.body)}`)
      return undefined
    }
    if (told.status !== 200 && told.status !== 201) throw new Error(`${told.status}: ${JSON.stringify(told.body)}`)
    counts.saved++
    return answeredData(told)
  }
  await fc.assert(
    fc.asyncProperty(few, async (random) => {
      // What a client sends is JSON: no undefined, no NaN, no lone surrogate as such.
      const body = JSON.parse(JSON.stringify(random)) as JsonObject
      const made = await checked('POST', '/guardrails', { name: 'x', ...body })
      await checked('PATCH', `/guardrails/${id}`, body)
      if (made) {
        for (const name of SHOWN) {
          const [sent, shown]: (Json | undefined)[] = [body[name] ?? undefined, made[name] ?? undefined]
          if (JSON.stringify(sent) !== JSON.stringify(shown)) throw new Error(`${name}: ${JSON.stringify([sent, shown])}`)
        }
        const path = `/guardrails/${String(made.id)}`
        await scene.call('POST', `${path}/assignments/keys`, { key_hashes: [HASHES.app] })
        const { status, body: utterance } = await scene.say('Hello a b 1234 x')
        if (![200, 403, 404].includes(status)) throw new Error(`${status}: ${JSON.stringify(utterance)}`)
        await scene.call('DELETE', path)
      }
      const { status } = await scene.say('Hello', SECRETS.other)
      if (![200, 403, 404].includes(status)) throw new Error(`${status}`)
    }),
    property(120, 3_000),
  )
  t.ok(counts.saved > 40 && counts.refused > 40, JSON.stringify(counts))
  t.notMatch(scene.gateway.logs.join('\n'), /guardrails kept|"level":50|unexpected/, 'nothing that was saved could not be put in force')
})
