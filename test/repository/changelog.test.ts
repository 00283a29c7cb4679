/** The changelog is a page that a stranger reads in a minute: few lines, one sentence each, with the page that explains it. */
import t from 'tap'
import { every } from '../support/every.ts'
import { read } from './source-tree.ts'

/** Lines that are not blank, of a version without a release before it. */
const MAX_LINES = 60
const MAX_CHARACTERS = 200

t.test('the unreleased version has at most sixty lines', async (t) => {
  const [, unreleased = ''] = read('CHANGELOG.md').split(/^## /m)
  t.match(unreleased, /^\[Unreleased\]\n/)
  const lines = unreleased.split('\n').filter((line) => line !== '')
  t.ok(lines.length <= MAX_LINES, `${lines.length} lines`)
  await every(t, 'every entry', async (t) => {
    for (const line of lines.filter((line) => line.startsWith('-'))) {
      t.ok(line.length <= MAX_CHARACTERS, `${line.length} characters: ${line}`)
      t.match(line, /\]\((?:docs\/|https:)/, `links its page: ${line}`)
      // A period within a link or a number ends no sentence.
      t.equal(line.replace(/\([^)]*\)/g, '').match(/[.!?](?=\s|$)/g)?.length, 1, `one sentence: ${line}`)
    }
  })
})
