/** Callers whose tokens were verified: once for all who show a token at the same time, and again when its end has come. */
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { RefusedToken } from '../../src/core/token-refusals.ts'
import { TokenCallers } from '../../src/pipeline/request/authentication/token-callers.ts'
import type { VerifiedToken } from '../../src/services/issuers/types.ts'
import { FakeClock } from '../support/clock.ts'

const ISSUER = 'https://login.example.com'
const TERMS = {
  role: 'member' as const,
  disabled: false,
  limit: null,
  limitReset: null,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passThrough: false,
}
const HOW = { isJwt: true, isSuspect: () => false }

function start(verify: (clock: FakeClock) => Promise<Partial<VerifiedToken>>) {
  const clock = new FakeClock()
  let verified = 0
  const callers = new TokenCallers({
    clock,
    proof: {
      takesOpaque: false,
      refuse: (why) => new RefusedToken(why),
      map: () => undefined,
      verifyJwt: async () => {
        verified++
        const expiresAt = clock.now() + 60_000
        return { issuer: ISSUER, member: 'ada', rule: 0, expiresAt, holdsUntil: expiresAt, claims: {}, ...(await verify(clock)) }
      },
      verifyOpaque: () => Promise.reject(new RefusedToken('token_inactive')),
    },
    claimNames: new Set(),
    rules: new Map([[ISSUER, [{ name: 'ml', label: 'login.example.com', guardrails: [], terms: TERMS }]]]),
  })
  return { clock, callers, verified: () => verified }
}

t.test('a token that many show at once is verified once, and then found without a wait', async (t) => {
  const gate = Promise.withResolvers<void>()
  const { callers, clock, verified } = start(() => gate.promise.then(() => ({})))
  const finding = Array.from({ length: 5 }, () => callers.find('token', 'digest', HOW))
  t.equal(callers.atHand('digest'), undefined)
  gate.resolve()
  const [first, ...others] = await Promise.all(finding)
  t.ok(others.every((key) => key === first))
  t.equal(callers.atHand('digest'), first)
  t.equal(verified(), 1)
  t.match(first, { name: 'ada (ml)', role: 'member', token: { issuer: ISSUER } })
  await clock.advance(60_000)
  t.equal(callers.atHand('digest'), undefined, 'its end has come')
})

t.test('a caller that no rule maps is remembered as well', async (t) => {
  const { callers, verified } = start(async () => ({ rule: undefined }))
  await t.rejects(callers.find('token', 'digest', HOW), { code: 'forbidden' })
  t.throws(() => callers.atHand('digest'), { code: 'forbidden' })
  t.equal(verified(), 1)
})

t.test('a failure is not remembered', async (t) => {
  const { callers, verified } = start(() => Promise.reject(new Fault('unavailable')))
  for (const _ of [1, 2]) await t.rejects(callers.find('token', 'digest', HOW), { code: 'unavailable' })
  t.equal(verified(), 2)
})
