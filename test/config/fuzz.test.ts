// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold variables of their own
import fc from 'fast-check'
import t from 'tap'
import { Check } from 'typebox/value'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { configSchema } from '../../src/config/schema/root.ts'
import { checkScalar } from '../../src/config/validate.ts'
import { Fault } from '../../src/core/faults.ts'
import { patternDetector } from '../../src/guardrails/pattern.ts'
import { property } from '../support/seed.ts'
import { GOOD } from './broken-files.ts'

const RUNS = property(500, 20_000)

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

/** Outcome of a text: loaded, refused as it should be, or what is wrong with the outcome. */
function outcome(text: string): 'loaded' | 'refused' | Error {
  try {
    const config = loadConfig('f.yaml', { A: 'value' }, { text })
    if (config.providers.length === 0 && config.skipped.length === 0) return new Error('a configuration without providers')
    // Variables stand for other types than the text that holds them.
    if (!text.includes('${') && !Check(configSchema, parse(text))) return new Error('typebox refuses what was accepted')
    return 'loaded'
  } catch (error) {
    if (!(error instanceof ConfigError)) return new Error(`not a ConfigError: ${String(error)}`)
    const lines = text.split(/\r\n|\r|\n/).length
    const wild = error.problems.find(({ line, column, message }) => line < 1 || line > lines + 1 || column < 1 || message === '')
    if (wild) return new Error(`a wild position: ${JSON.stringify(wild)}`)
    if (error.problems.length < 1 || error.problems.length > 100) return new Error(`${error.problems.length} problems`)
    // Every control character that reached a message would reach a terminal.
    const control = [...error.message].some((char) => char !== '\n' && char < ' ')
    return control ? new Error(`a control character in ${JSON.stringify(error.message)}`) : 'refused'
  }
}

t.test('a mutant loads or tells where it is wrong', async (t) => {
  const counts = { loaded: 0, refused: 0 }
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      const text = mutant(edits)
      const result = outcome(text)
      if (result instanceof Error) throw new Error(`${result.message}\n${text}`)
      counts[result]++
    }),
    RUNS,
  )
  t.ok(counts.loaded > RUNS.numRuns / 100, `${counts.loaded} mutants loaded`)
  t.ok(counts.refused > RUNS.numRuns / 4, `${counts.refused} mutants were refused`)
})

const TOKENS = [
  'a',
  'B',
  '0',
  '.',
  '*',
  '+',
  '?',
  '|',
  '^',
  '$',
  '(',
  ')',
  '(?:',
  '(?i)',
  '(?=',
  '(?<n>',
  '[',
  ']',
  '[^',
  '{2}',
  '{2,1}',
  '{1001}',
  '-',
  '\\',
]
const ESCAPES = [
  '\\d',
  '\\1',
  '\\k<n>',
  '\\h',
  '\\x41',
  '\\x',
  '\\u{41}',
  '\\u0041',
  '\\cA',
  '\\pL',
  '\\p{Greek}',
  '\\z',
  '\\Q',
  '\\.',
  '\\\\',
  '/',
  'é',
  '💥',
]

function compiles(pattern: string): boolean {
  try {
    patternDetector(pattern, 'here')
    return true
  } catch (problem) {
    if (problem instanceof Fault) return false
    throw problem
  }
}

t.test('a pattern that loads is one that the guardrails take, and the other way round', async (t) => {
  const counts = { taken: 0, refused: 0 }
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...TOKENS, ...ESCAPES), { minLength: 1, maxLength: 6 }), (tokens) => {
      const pattern = tokens.join('')
      const taken = checkScalar('regex', pattern) === undefined
      counts[taken ? 'taken' : 'refused']++
      return taken === compiles(pattern)
    }),
    RUNS,
  )
  t.ok(counts.taken > RUNS.numRuns / 20, `${counts.taken} patterns were taken`)
  t.ok(counts.refused > RUNS.numRuns / 20, `${counts.refused} patterns were refused`)
})
