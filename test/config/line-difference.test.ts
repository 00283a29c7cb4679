/** Lines of a configuration in one form, and how two of them differ. */
import t from 'tap'
import { lineDifference } from '../../src/config/line-difference.ts'
import { type WrittenLine, writtenLines } from '../../src/config/written-lines.ts'
import { every } from '../support/every.ts'

const splitLines = (text: string): WrittenLine[] => text.split('').map((each, at) => ({ line: at + 1, text: each }))
const kinds = (was: string, now: string): string =>
  lineDifference(splitLines(was), splitLines(now))
    .lines.map(({ kind, text, count }) => (kind === 'folded' ? `~${count}` : `${{ same: '', removed: '-', added: '+' }[kind]}${text}`))
    .join(' ')

t.test('a configuration stands in one form, with the lines of its file', async (t) => {
  const text = `# a comment
providers:
  acme: { dialect: openai-chat, key: "sk-secret-of-acme-1", headers: { x-team: "the secret" } }

models:
  acme/one:
    name: "One: a model" # another
    endpoints: [{ provider: acme, price: { prompt: "1" } }, { provider: acme }]
    tags: []
`
  t.same(
    writtenLines(text)?.map(({ line, text }) => `${line} ${text}`),
    [
      '2 providers:',
      '3   acme:',
      '3     dialect: openai-chat',
      '3     key: "***"',
      '3     headers:',
      '3       x-team: "***"',
      '5 models:',
      '6   acme/one:',
      '7     name: "One: a model"',
      '8     endpoints:',
      '8       - provider: acme',
      '8         price:',
      '8           prompt: "1"',
      '8       - provider: acme',
      '9     tags: []',
    ],
  )
  t.equal(writtenLines('a: ['), undefined)
})

t.test('the fewest lines are shown, with what stands around them', async (t) => {
  t.equal(kinds('abc', 'abc'), '~3')
  t.equal(kinds('', 'ab'), '+a +b')
  t.equal(kinds('ab', ''), '-a -b')
  t.equal(kinds('0123456789abcdef', '012345678Xabcdef'), '~6 6 7 8 -9 +X a b c ~3')
  t.equal(kinds('abcabba', 'cbabac'), '-a -b c +b a b -b a +c')
})

t.test('both texts can be read off a difference', async (t) => {
  let seed = 7
  const draw = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const word = (): string => Array.from({ length: draw(12) }, () => 'abc'[draw(3)]).join('')
  await every(t, 'of any two texts', (t) => {
    for (let i = 0; i < 300; i++) {
      const [was, now] = [word(), word()]
      const { lines } = lineDifference(splitLines(was), splitLines(now))
      const read = (without: string, from: string, at: 'was' | 'now'): string =>
        lines
          .filter(({ kind }) => kind !== without)
          .map(({ kind, text, count, [at]: line }) => (kind === 'folded' ? from.slice((line ?? 1) - 1, (line ?? 1) - 1 + count) : text))
          .join('')
      t.equal(read('added', was, 'was'), was)
      t.equal(read('removed', now, 'now'), now)
    }
  })
})

t.test('two texts that have nothing in common cost little', async (t) => {
  const many = (word: string): WrittenLine[] => Array.from({ length: 20_000 }, (_, at) => ({ line: at + 1, text: `${word} ${at}` }))
  const begun = process.cpuUsage()
  const found = lineDifference(many('was'), many('now'))
  t.match(found, { added: 20_000, removed: 20_000, left_out: 38_000 })
  t.ok(process.cpuUsage(begun).user < 2_000_000, 'less than two seconds')
})
