/** Beginnings of sentences: which are counted, and that a count may only fall. */
import t from 'tap'
import { countedFolder, risen, wrongStarts } from '../../scripts/sentence-starts.ts'

t.test('counts comments and paragraphs that begin with a question word as a subject', async (t) => {
  const source = '/** What it costs. */\nlet a\n/**\n * Whether it runs.\n */\n/** Cost of it. */\n// What for?\n/** Whatever is sent. */'
  t.same(
    wrongStarts('src/core/a.ts', source).map(({ line }) => line),
    [1, 3],
  )
  const page = '# How it works\n\nWho may call it?\n\n- Where it stands\n\nA key. What it costs.\n'
  t.same(
    wrongStarts('docs/a.md', page).map(({ text }) => text),
    ['# How it works', '- Where it stands'],
  )
})

t.test('refuses a folder whose count has risen', async (t) => {
  t.same([countedFolder('src/core/a.ts'), countedFolder('test/gateway/a.test.ts')], ['src/core', 'test'])
  t.same(risen(new Map([['src/core', 2]]), { 'src/core': 2 }), [])
  t.match(
    risen(
      new Map([
        ['src/core', 3],
        ['web', 1],
      ]),
      { 'src/core': 2 },
    ),
    [/^src\/core: 3 sentences .* 2 at most/, /^web: 1 /],
  )
})
