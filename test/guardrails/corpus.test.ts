import t from 'tap'
import type { BuiltinSlug } from '../../src/guardrails/settings/recognisers.ts'
import { every } from '../support/every.ts'
import { found, measure, type Sample, SLUGS, samples } from './corpus/measure.ts'

/** With check digits or a form of their own: next to nothing may be missed or mistaken. */
const EXACT: ReadonlySet<BuiltinSlug> = new Set(['credit-card', 'iban', 'email', 'ssn'])

/** Figures of the others on the held-out half: a change that falls below has lost something. */
const LEAST: Readonly<Partial<Record<BuiltinSlug, { precision: number; recall: number }>>> = {
  phone: { precision: 0.99, recall: 0.94 },
  'ip-address': { precision: 0.99, recall: 0.99 },
  'person-name': { precision: 0.93, recall: 0.99 },
  address: { precision: 0.96, recall: 0.99 },
  'api-key': { precision: 0.99, recall: 0.99 },
  'regex-prompt-injection': { precision: 0.96, recall: 0.81 },
}

const both: Sample[] = [...samples('development'), ...samples('held-out')]

t.test('the corpus has 60 positive and 60 negative texts of each recogniser, in five languages', async (t) => {
  t.ok(both.filter(({ find }) => find.length > 0).length >= 600, 'positive texts')
  t.ok(both.filter(({ find }) => find.length === 0).length >= 600, 'hard negatives')
  await every(t, 'every slug', async (t) => {
    for (const slug of SLUGS) {
      const own = both.filter(({ kind }) => kind === slug)
      t.ok(own.filter(({ find }) => find.length > 0).length >= 60, `${slug}: positive`)
      t.ok(own.filter(({ find }) => find.length === 0).length >= 60, `${slug}: negative`)
    }
  })
  t.ok(new Set(both.map(({ lang }) => lang)).size >= 5, 'languages')
  await every(t, 'every case', async (t) => {
    for (const { text, find } of both) for (const wanted of find) t.ok(text.includes(wanted), `${wanted} stands in its text`)
  })
  t.equal(new Set(both.map(({ kind, text }) => `${kind} ${text}`)).size, both.length, 'no text stands in both halves')
})

t.test('precision and recall on held-out texts reach the bar of each recogniser', async (t) => {
  await every(t, 'every slug', async (t) => {
    for (const slug of SLUGS) {
      const { precision, recall } = measure(slug, samples('held-out'))
      const least = EXACT.has(slug) ? { precision: 0.99, recall: 0.99 } : LEAST[slug]
      t.ok(least, `${slug} has a bar`)
      t.ok(precision >= (least?.precision ?? 1), `${slug}: precision ${precision.toFixed(3)}`)
      t.ok(recall >= (least?.recall ?? 1), `${slug}: recall ${recall.toFixed(3)}`)
    }
  })
})

t.test('the measure reports missed and mistaken texts', async (t) => {
  const wrong: Sample = { kind: 'email', lang: 'en', genre: 'prose', text: 'nobody here', find: ['nobody'] }
  const blind: Sample = { kind: 'email', lang: 'en', genre: 'prose', text: 'to a.b@example.com', find: [] }
  const figures = measure('email', [wrong, blind])
  t.match({ missed: figures.missed, mistaken: figures.mistaken }, { missed: [wrong], mistaken: [blind] })
  t.equal(figures.recall, 0)
  t.same(found('email', 'to a.b@example.com'), ['a.b@example.com'])
})
