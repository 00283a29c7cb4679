/** Credentials that rotate: one fetch for all calls that wait, refreshes ahead of the end, and use while they hold. */
import t from 'tap'
import { MetricRegistry } from '../../src/machines/metrics/metrics.ts'
import { RefreshedCredential } from '../../src/services/credentials/credential-refresh.ts'
import { Credentials } from '../../src/services/credentials/credentials.ts'
import { keyGrant, readToken } from '../../src/services/credentials/token-response.ts'
import { type Credential, CredentialError, credentialSource, type FetchGrant, type Grant } from '../../src/services/credentials/types.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'

const MINUTE = 60_000

interface Scene {
  clock: FakeClock
  credential: RefreshedCredential
  /** Fetches so far. */
  fetches: () => number
  lines: { level: string; fields: Record<string, unknown>; text: string }[]
  counted: () => Promise<Record<string, number>>
}

/** @param answer what the source says at the fetch of this number. */
function scene(answer: (fetch: number, now: number) => Grant | Promise<Grant>, refresh?: number): Scene {
  const clock = new FakeClock()
  const metrics = new MetricRegistry()
  const lines: Scene['lines'] = []
  const logged = (level: string) => (fields: object, text?: string) => void lines.push({ level, fields: { ...fields }, text: `${text}` })
  const log = { error: logged('error'), warn: logged('warn'), info: logged('info') } as unknown as ConstructorParameters<
    typeof RefreshedCredential
  >[1]['log']
  let count = 0
  const credential = new RefreshedCredential(
    { provider: 'acme', source: 'test', terms: '{}', fingerprint: 'f', refresh, open: async () => async (_, now) => answer(++count, now) },
    { clock, metrics, log },
  )
  const counted = async () => {
    const snapshot = await metrics.snapshot()
    const samples = snapshot.filter(({ name }) => name.startsWith('headgate_credential')).flatMap(({ values }) => values)
    return Object.fromEntries(samples.map(({ labels, value }) => [String(labels.outcome ?? 'failing'), value]))
  }
  return { clock, credential, fetches: () => count, lines, counted }
}

const token = (text: string, now: number, seconds: number): Grant =>
  keyGrant(readToken(JSON.stringify({ token: text, expires_in: seconds }), now))

/** Credential that the provider would be sent. */
const sent = (credential: Credential): string => {
  const call = {
    method: 'POST',
    origin: 'https://acme.test',
    path: '/',
    body: '',
    keyHeader: (key: string) => ['authorization', key] as const,
  }
  return credential.headers(call)[1] ?? ''
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}

t.test('many who wait share one fetch', async (t) => {
  const { credential, clock, fetches } = scene((n, now) => token(`t${n}`, now, 3600))
  t.equal(credential.ready(clock.now()), false, 'nothing is there yet')
  await Promise.all(Array.from({ length: 50 }, () => credential.refresh()))
  t.equal(fetches(), 1)
  t.equal(credential.ready(clock.now()), true)
  t.equal(sent(credential), 't1')
})

t.test('a token is refreshed before its end, at a moment that chance decides', async (t) => {
  const { credential, clock, fetches } = scene((n, now) => token(`t${n}`, now, 3600))
  await credential.refresh()
  await clock.advance(49 * MINUTE)
  t.equal(fetches(), 1, 'not earlier than twice five minutes before')
  await clock.advance(6 * MINUTE)
  await settle()
  t.equal(fetches(), 2, 'not later than five minutes before')
  t.equal(sent(credential), 't2')
})

t.test('gateways that start together do not refresh together', async (t) => {
  const moments = new Set<number>()
  for (let seed = 1; seed <= 20; seed++) {
    const clock = new FakeClock(seed)
    const { credential, at } = withClock(clock)
    await credential.refresh()
    await settle()
    moments.add(at())
  }
  t.ok(moments.size > 15, `${moments.size} different moments of 20`)
})

/** @param fetched what the source gives. */
function withClock(
  clock: FakeClock,
  fetched: (now: number) => Grant = (now) => token('t', now, 3600),
): { credential: RefreshedCredential; at: () => number } {
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const credential = new RefreshedCredential(
    {
      provider: 'acme',
      source: 'test',
      terms: '{}',
      fingerprint: 'f',
      refresh: undefined,
      open: async () => async (_, now) => fetched(now),
    },
    { clock, metrics: new MetricRegistry(), log },
  )
  return { credential, at: () => Math.round(Math.min(...clock.waiting)) }
}

t.test('while the identity service is down the token is used as long as it holds', async (t) => {
  let isDown = false
  const { credential, clock, lines, counted } = scene((n, now) => {
    if (isDown) throw new CredentialError('the service replied with status 503')
    return token(`t${n}`, now, 600)
  })
  await credential.refresh()
  isDown = true
  await clock.advance(9 * MINUTE)
  t.equal(credential.ready(clock.now()), true, 'one minute is left')
  t.equal(sent(credential), 't1')
  t.match(
    lines,
    [{ level: 'warn', fields: { provider: 'acme', reason: 'the service replied with status 503' } }],
    'one line, not one a retry',
  )
  t.equal((await counted()).failing, 1)
  isDown = false
  await clock.advance(MINUTE)
  await settle()
  t.not(sent(credential), 't1', 'a retry has fetched another before the end')
  t.equal((await counted()).failing, 0)
  t.equal(lines.at(-1)?.level, 'info')
})

t.test('an identity service that is down for two thirds of the life of a short token leaves no gap', async (t) => {
  await every(t, 'whenever its retries come', async (t) => {
    for (let seed = 1; seed <= 40; seed++) {
      const clock = new FakeClock(seed)
      let upAt = 0
      const { credential } = withClock(clock, (now) => {
        if (clock.monotonic() < upAt) throw new CredentialError('down')
        return token(`t${clock.monotonic()}`, now, 3)
      })
      await credential.refresh()
      upAt = clock.monotonic() + 2_000
      for (let step = 0; step < 80; step++) {
        await clock.advance(50)
        await settle()
        t.ok(credential.ready(clock.now()), `seed ${seed}, after ${clock.monotonic()} ms`)
      }
      credential.close()
    }
  })
})

t.test('without a token requests get a fault of its own, and do not storm the identity service', async (t) => {
  const { credential, clock, fetches, lines } = scene(() => {
    throw new Error('secret-in-a-message')
  })
  const first = await credential.refresh().catch((fault: unknown) => fault)
  t.match(first, { code: 'credential_unavailable', status: 500 })
  await Promise.all(Array.from({ length: 100 }, () => credential.refresh().catch(() => {})))
  t.equal(fetches(), 1, 'a request starts none within a second of a failure')
  t.equal(lines.length, 1)
  t.equal(lines[0]?.level, 'error')
  t.notMatch(JSON.stringify(lines), /secret-in-a-message/, 'the message of an error that is not ours stays out of the log')
  await clock.advance(10 * MINUTE)
  t.ok(fetches() >= 8 && fetches() <= 30, `retries with a back-off: ${fetches()} in ten minutes`)
})

t.test('a fetch that never ends is given up', async (t) => {
  const { credential, clock, lines } = scene(() => new Promise(() => {}))
  const waiting = credential.refresh().catch((fault: unknown) => fault)
  await settle()
  await clock.advance(30_000)
  t.match(await waiting, { code: 'credential_unavailable' })
  t.match(lines[0], { fields: { reason: 'no answer within 30 seconds' } })
})

t.test('a refused token is replaced once, for all who were refused', async (t) => {
  const { credential, clock, fetches, counted } = scene((n, now) => token(`t${n}`, now, 3600))
  await credential.refresh()
  const refused = credential.grant
  const renewed = await Promise.all(Array.from({ length: 20 }, () => credential.renew(refused)))
  t.strictSame(new Set(renewed), new Set([true]))
  t.equal(fetches(), 2)
  t.equal((await counted()).refused, 1)
  t.equal(await credential.renew(credential.grant), false, 'a second refusal within half a minute fetches nothing')
  t.equal(fetches(), 2)
  await clock.advance(31_000)
  t.equal(await credential.renew(credential.grant), true)
})

t.test('a renewal that fetches the same token counts as no renewal', async (t) => {
  const { credential } = scene((_, now) => token('same', now, 3600))
  await credential.refresh()
  t.equal(await credential.renew(credential.grant), false)
})

t.test('a token without an end is fetched every five minutes, or as the settings say, and holds until then', async (t) => {
  const usual = scene((n) => keyGrant(readToken(`plain${n}`, 0)))
  await usual.credential.refresh()
  await usual.clock.advance(5 * MINUTE)
  t.equal(usual.fetches(), 2)
  const often = scene((n) => keyGrant(readToken(`plain${n}`, 0)), MINUTE)
  await often.credential.refresh()
  await often.clock.advance(MINUTE)
  t.equal(often.fetches(), 2)
  t.equal(often.credential.ready(often.clock.now() + 1000 * MINUTE), true)
})

t.test('what a source says of the end of a token', async (t) => {
  const now = Date.UTC(2026, 0, 5, 12)
  const jwt = `e30.${Buffer.from(JSON.stringify({ exp: now / 1000 + 90 })).toString('base64url')}.c2ln`
  const CASES: readonly [answer: string, end: number | undefined][] = [
    ['plain-token\n', undefined],
    ['{"access_token":"a","expires_in":120}', now + 120_000],
    ['{"token":"a","expires_in":"120"}', now + 120_000],
    [`{"token":"a","expires_at":${now / 1000 + 5}}`, now + 5_000],
    [`{"token":"a","expires_at":${now + 7}}`, now + 7],
    ['{"token":"a","expires_at":"2026-01-05T12:01:00Z"}', now + 60_000],
    [jwt, now + 90_000],
    [`{"token":"${jwt}"}`, now + 90_000],
    ['a.b.c', undefined],
  ]
  await every(t, 'the end is read', (t) => {
    for (const [answer, end] of CASES) t.equal(readToken(answer, now).expiresAt, end, answer)
  })
  const WRONG = [
    '',
    '{}',
    '{"token":5}',
    '{"token":""}',
    '{broken',
    'two words',
    'line\nline',
    '{"token":"a","expires_in":"soon"}',
    '{"token":"a","expires_at":"soon"}',
  ]
  await every(t, 'what is no token is refused', (t) => {
    for (const answer of WRONG) t.ok(thrownBy(() => readToken(answer, now)) instanceof CredentialError, answer)
  })
})

function thrownBy(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

const sourceWith = (open: () => Promise<FetchGrant>) =>
  credentialSource({ name: 'test', settings: { type: 'string' } as never, describe: () => '', open })

t.test('a reload keeps what has not changed, and closes the rest', async (t) => {
  const clock = new FakeClock()
  let fetches = 0
  const source = sourceWith(async () => async (_, now) => {
    fetches++
    return token(`t${fetches}`, now, 3600)
  })
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const credentials = new Credentials([source], { clock, metrics: new MetricRegistry(), log, env: {} })
  const of = (settings: string) => credentials.of({ provider: 'acme' }, { source: 'test', settings })
  const first = credentials.during(() => of('one'))
  await settle()
  t.equal(
    credentials.during(() => of('one')),
    first,
  )
  t.equal(fetches, 1, 'the token stays')
  const second = credentials.during(() => of('two'))
  await settle()
  t.not(second, first)
  t.equal(fetches, 2)
  await clock.advance(60 * MINUTE)
  t.equal(sent(first), 't1', 'a request under way can still use the old one, which is not refreshed any more')
  t.throws(() =>
    credentials.during(() => {
      of('three')
      throw new Error('broken')
    }),
  )
  t.equal(
    credentials.during(() => of('two')),
    second,
    'a configuration that cannot be composed changes nothing',
  )
  credentials.close()
  await settle()
  t.strictSame(clock.waiting, [], 'nothing waits any more')
})

t.test('where no provider is called, as in a rehearsal of a plan, nothing is fetched', async (t) => {
  const clock = new FakeClock()
  let opened = 0
  const source = sourceWith(async () => {
    opened++
    throw new CredentialError('nothing here')
  })
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const credentials = new Credentials([source], { clock, metrics: new MetricRegistry(), log })
  credentials.during(() => credentials.of({ provider: 'acme' }, { source: 'test', settings: 'one' }))
  await clock.advance(60 * MINUTE)
  t.equal(opened, 0)
  t.strictSame(clock.waiting, [])
})
