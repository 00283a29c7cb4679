/** The scenarios: what goes wrong in the hour, and what is asked of the gateway then. */
import { FIRST_BYTE_MS, PROVIDERS } from './market.ts'
import type { TrafficMix } from './traffic.ts'
import type { Failing, Span, Trouble } from './troubles.ts'

export interface Scenario {
  readonly name: string
  readonly about: string
  readonly troubles: readonly Trouble[]
  /** Minutes of the trouble that the goals look at. */
  readonly window: Span
  readonly mix: TrafficMix
  readonly goals: readonly GoalKind[]
}

/**
 * success: ≥ 99.9 % in the window. calls: ≤ 1.2 upstream calls per request in the window.
 * recovery: who failed serves again ≤ 35 s after the window. share: it gets its fair share again afterwards.
 * settled: no request fails later than 35 s after the window. avoided: hurried callers leave the slow one alone.
 * welcome: nobody is called who has asked for a pause. law: the shares follow 1/price².
 */
export type GoalKind = 'success' | 'calls' | 'recovery' | 'share' | 'settled' | 'avoided' | 'welcome' | 'law'

/** The trouble's ten minutes; prices do not change in them nor in the ten minutes after. */
const WINDOW: Span = { from: 20, to: 30 }
/** Most of the file of troubles: errors that are told at once. */
const QUICK_MS = 40
const PATIENT: TrafficMix = { hurried: 0 }

const failing = (what: Pick<Failing, 'provider'> & Partial<Failing>): Failing => ({
  kind: 'failing',
  ...WINDOW,
  code: 'upstream_error',
  share: 1,
  afterMs: QUICK_MS,
  ...what,
})

const storm = (what: Partial<Failing>): Failing[] => PROVIDERS.map((provider) => failing({ provider, ...what }))

/** A third of the errors of the flaky provider each. */
const flaky = (share: number): Failing[] => {
  const rest = { provider: 'bravo', from: 0, to: 60 } as const
  return [
    failing({ ...rest, share: share / 2, code: 'upstream_error' }),
    failing({ ...rest, share: share / 2 / (1 - share / 2), code: 'upstream_overloaded' }),
  ]
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'calm',
    about: 'Nothing fails. Prices change at minutes 15 and 40, speeds all the time.',
    troubles: [],
    window: { from: 0, to: 60 },
    mix: PATIENT,
    goals: ['success', 'calls', 'law'],
  },
  {
    name: 'one down, one flaky',
    about: 'alpha refuses every call from minute 20 to 30; of the calls to bravo 30 % fail the whole hour.',
    troubles: [failing({ provider: 'alpha' }), ...flaky(0.3)],
    window: WINDOW,
    mix: PATIENT,
    goals: ['success', 'calls', 'recovery', 'share'],
  },
  {
    name: 'one silent, one flaky',
    about: `The same, but alpha takes calls and says nothing: each costs ${FIRST_BYTE_MS / 1000} seconds until it is given up.`,
    troubles: [failing({ provider: 'alpha', code: 'upstream_silent', afterMs: FIRST_BYTE_MS }), ...flaky(0.3)],
    window: WINDOW,
    mix: PATIENT,
    goals: ['success', 'calls', 'recovery', 'share'],
  },
  {
    name: 'storm of quick errors',
    about: `All five answer every call with an error after ${QUICK_MS} ms from minute 20 to 30.`,
    troubles: storm({}),
    window: WINDOW,
    mix: PATIENT,
    goals: ['calls', 'recovery', 'settled'],
  },
  {
    name: 'storm of refused connections',
    about: 'No provider lets a connection in: each such call may be made twice, since nothing was sent.',
    troubles: storm({ afterMs: 5, code: 'upstream_connect' }),
    window: WINDOW,
    mix: PATIENT,
    goals: ['calls', 'recovery', 'settled'],
  },
  {
    name: 'storm of slow errors',
    about: 'All five fail after about three seconds.',
    troubles: storm({ afterMs: 3_000, code: 'upstream_overloaded' }),
    window: WINDOW,
    mix: PATIENT,
    goals: ['calls', 'recovery', 'settled'],
  },
  {
    name: 'storm of silence',
    about: `All five take calls and say nothing; each call is given up after ${FIRST_BYTE_MS / 1000} seconds.`,
    troubles: storm({ afterMs: FIRST_BYTE_MS, code: 'upstream_silent' }),
    window: WINDOW,
    mix: PATIENT,
    goals: ['calls', 'recovery', 'settled'],
  },
  {
    name: 'slow provider',
    about: 'bravo is eight times as slow from minute 20 to 30. Half of the callers prefer a first token within two seconds.',
    troubles: [{ kind: 'slow', provider: 'bravo', ...WINDOW, factor: 8 }],
    window: WINDOW,
    mix: { hurried: 0.5 },
    goals: ['success', 'calls', 'avoided'],
  },
  {
    name: 'rate limit',
    about: 'alpha takes 40 calls per model and 20 seconds from minute 20 to 30 and refuses the others with 429 and Retry-After.',
    troubles: [{ kind: 'limited', provider: 'alpha', ...WINDOW, calls: 40, windowMs: 20_000 }],
    window: WINDOW,
    mix: PATIENT,
    goals: ['success', 'calls', 'recovery', 'share', 'welcome'],
  },
]
