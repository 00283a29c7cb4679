/** A fallback in mid-conversation from each wire to each other wire, and between accounts of one wire; all pairs run in fallback-pairs.long.ts. */
import t from 'tap'
import { every } from '../support/every.ts'
import { runPair } from './fallback.ts'
import { startMatrix } from './matrix.ts'
import { RULES } from './rules/index.ts'

const PAIRS = [
  ['openai', 'anthropic'],
  ['openai', 'gemini'],
  ['azure-openai', 'deepseek'],
  ['anthropic', 'openai'],
  ['anthropic', 'vertex-gemini'],
  ['anthropic', 'mistral'],
  ['gemini', 'azure-openai'],
  ['gemini', 'anthropic'],
  ['vertex-gemini', 'openrouter'],
  ['openrouter', 'openai'],
  ['deepseek', 'anthropic'],
  ['mistral', 'gemini'],
  // One wire, two accounts.
  ['openai', 'azure-openai'],
  ['gemini', 'vertex-gemini'],
  ['openrouter', 'deepseek'],
  ['deepseek', 'mistral'],
] as const

const matrix = await startMatrix(
  t,
  RULES.filter(({ preset }) => PAIRS.some((pair) => pair.some((each) => each === preset))),
)
for (const pair of PAIRS) await every(t, pair.join(' fails, and falls to '), (t) => runPair(t, matrix, pair, 'either'))
