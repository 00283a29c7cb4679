/**
 * A fallback in mid-conversation between every stand-in and one of each wire, both ways. Runs with `npm run test:servers`, since it takes
 * half a minute; `npm test` has fallback.test.ts.
 */
import t from 'tap'
import { every } from '../support/every.ts'
import { runPair } from './fallback.ts'
import { startMatrix } from './matrix.ts'
import { RULES } from './rules/index.ts'

const LEADERS = ['openai', 'anthropic', 'gemini', 'openrouter']

// The conversation has tools, and its chain names no provider.
const rules = RULES.filter(({ models: [{ tools, more }] }) => tools !== false && more === undefined)
const matrix = await startMatrix(t, rules)
for (const { preset } of rules)
  await every(t, preset, async (t) => {
    for (const leader of LEADERS.filter((each) => each !== preset)) {
      await runPair(t, matrix, [preset, leader], 'either')
      if (!LEADERS.includes(preset)) await runPair(t, matrix, [leader, preset], 'either')
    }
  })
