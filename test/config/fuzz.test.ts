import fc from 'fast-check'
import t from 'tap'
import { Check } from 'typebox/value'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { configSchema } from '../../src/config/schema/root.ts'
import { GOOD } from './broken-files.ts'

const RUNS = process.env.HEADGATE_LONG ? 20_000 : 1000

/** Pieces that mean something to YAML or to the schema. */
const PIECES = [
  ...[
    ':',
    ': ',
    '-',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '#',
    '\n',
    '\n  ',
    '\t',
    '"',
    "'",
    '&a',
    '*a',
    '!',
    '|',
    '>',
    '%',
    '@',
    '?',
    '\u0000',
    '\ufeff',
  ],
  ...[
    'null',
    'true',
    '8080',
    '-1',
    '1e309',
    '0x10',
    '.nan',
    '~',
    '<<: *a',
    '---',
    '...',
    '__proto__: 1',
    'constructor',
    '${A}',
    '${A?}',
    '${A:-b}',
    '${',
  ],
  ...['providers', 'sim', 'models', 'free', '10.00', '32MB', 'x'.repeat(300), '💥', 'é'],
]

type Edit = { at: number; cut: number; piece: string }

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(GOOD.length),
  cut: fc.oneof(fc.constant(0), fc.nat(12), fc.nat(200)),
  piece: fc.oneof(fc.constant(''), fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 8 })),
})

function mutant(edits: readonly Edit[]): string {
  return edits.reduce((text, { at, cut, piece }) => text.slice(0, at) + piece + text.slice(at + cut), GOOD)
}

/** What is wrong with the outcome of a load; undefined if it is as it must be. */
function complaint(text: string): string | undefined {
  try {
    const config = loadConfig('f.yaml', { A: 'value' }, { text })
    if (config.providers.length === 0 && config.skipped.length === 0) return 'a configuration without providers'
    // Variables stand for other types than the text that holds them.
    if (!text.includes('${') && !Check(configSchema, parse(text))) return 'typebox refuses what was accepted'
    return undefined
  } catch (error) {
    if (!(error instanceof ConfigError)) return `not a ConfigError: ${String(error)}`
    const lines = text.split(/\r\n|\r|\n/).length
    const wild = error.problems.find(({ line, column, message }) => line < 1 || line > lines + 1 || column < 1 || message === '')
    if (wild) return `a wild position: ${JSON.stringify(wild)}`
    if (error.problems.length < 1 || error.problems.length > 20) return `${error.problems.length} problems`
    // Every control character that reached a message would reach a terminal.
    const bare = [...error.message].find((char) => char !== '\n' && char < ' ')
    return bare === undefined ? undefined : `a control character in ${JSON.stringify(error.message)}`
  }
}

t.test('a mutant loads or tells where it is wrong', async (t) => {
  let loaded = 0
  let refused = 0
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      const text = mutant(edits)
      const wrong = complaint(text)
      if (wrong !== undefined) throw new Error(`${wrong}\n${text}`)
      try {
        loadConfig('f.yaml', { A: 'value' }, { text })
        loaded++
      } catch {
        refused++
      }
    }),
    { numRuns: RUNS },
  )
  t.ok(loaded > RUNS / 100, `${loaded} mutants loaded`)
  t.ok(refused > RUNS / 4, `${refused} mutants were refused`)
})
