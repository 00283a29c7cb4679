/** The word list of `npm run check`: which uses it finds, in comments and in names. */
import t from 'tap'
import { plainWordFindings } from '../../scripts/plain-words.ts'

t.test('words are found in comments and as parts of names, and honest lines may stand', async (t) => {
  const text = '/** Whoever is told. */\nconst askedCap = 1\nconst masked = retold\n// An old sailor told the child.\nconst NOBODY = 0'
  t.same(
    plainWordFindings(text, ['An old sailor']).map(({ line, word }) => `${line} ${word}`),
    ['1 Whoever', '1 told', '2 asked', '5 NOBODY'],
  )
})
