/** The table of peers on made-up figures: who was measured, who is missing, and why. */
import t from 'tap'
import type { Figures } from '../../bench/measure.ts'
import { NO_PEERS, peersText } from '../../bench/peers/index.ts'
import type { TargetName } from '../../bench/target.ts'

const figures = (target: TargetName, cpuRounds: readonly number[], peak = 100): Figures => ({
  target,
  requests: 1,
  perSecond: 1,
  cpuMicros: cpuRounds[1],
  cpuRounds,
  p50: 0,
  p99: 0,
  p50Rounds: [],
  p99Rounds: [],
  first: 0,
  peak,
})

const scenarios = new Map([
  ['chat', [figures('direct', []), figures('headgate', [100, 200, 100]), figures('gomodel-usage', [350, 680, 400], 60)]],
  ['chat-stream', [figures('headgate', [900, 900, 900], 180)]],
])

t.test('ratios are those of neighbouring rounds', async (t) => {
  const text = peersText(scenarios, NO_PEERS)
  t.match(text, /\| gomodel-usage \|\s+\|\s+key, rows of use \|\s+680 \|\s+3\.50× \|\s+3\.40–4\.00 \|\s+\|\s+\|\s+\|\s+60 \|/)
  t.match(text, /\| headgate .* 1\.00× \|.* 180 \|/)
  t.notMatch(text, /direct|litellm|missing/)
})

t.test('what could not be had is named with its reason, and has no row', async (t) => {
  const missing = new Map([['litellm', 'pip failed']])
  const text = peersText(scenarios, { ...NO_PEERS, missing })
  t.match(text, /\n- litellm is missing: pip failed\n/)
  t.notMatch(text, /\| litellm/)
})
