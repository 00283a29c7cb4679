/** The link to the control room that a start prints on a terminal, from outside: once, in time, from this machine. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SignInLink } from '../../src/server/control-room/sign-in-link.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { follow, plainNode, runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.setTimeout(120_000)

const OWN = { 'x-control-room': '1', 'content-type': 'application/json' }
const MINUTE = 60_000

const signIn = (admin: string, code: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${admin}/control-room/session`, { method: 'POST', headers: { ...OWN, ...headers }, body: JSON.stringify({ code }) })

const codeIn = (link = ''): string => new URL(link).hash.replace('#code=', '')

async function started(t: Test): Promise<{ gateway: Gateway; code: string; clock: FakeClock }> {
  const clock = new FakeClock()
  const link = new SignInLink(clock)
  const gateway = await startGateway(simulated(), { clock, signInLink: link })
  t.teardown(() => gateway.close())
  return { gateway, clock, code: codeIn(link.make(gateway.admin)) }
}

t.test('opens the session of an operator once', async (t) => {
  const { gateway, code } = await started(t)
  const replies = await Promise.all(Array.from({ length: 5 }, () => signIn(gateway.admin, code)))
  t.same(replies.map(({ status }) => status).sort(), [201, 401, 401, 401, 401])
  const opened = replies.find(({ status }) => status === 201)
  const body = (await opened?.json()) as { data: { role: string; name: string } }
  t.match(body.data, { role: 'operator', name: 'link of the start' })
  const cookie = opened?.headers.get('set-cookie')?.split(';')[0] ?? ''
  t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: { cookie } })).status, 200)
  const refused = replies.find(({ status }) => status === 401)
  t.match(await refused?.text(), /has been used, is older than five minutes/)
  t.notOk(gateway.logs.some((line) => line.includes(code)))
})

t.test('opens nothing five minutes after the start, however the time of day is set', async (t) => {
  const { gateway, clock, code } = await started(t)
  await clock.advance(5 * MINUTE)
  t.equal((await signIn(gateway.admin, code)).status, 401)
})

t.test('is refused from elsewhere, with other codes, and by pages of others', async (t) => {
  const { gateway, code } = await started(t)
  const cases: [name: string, code: unknown, headers: Record<string, string>, status: number][] = [
    ['through a proxy', code, { 'x-forwarded-for': '203.0.113.7' }, 401],
    ['through a proxy that says so in the standard header', code, { forwarded: 'for=203.0.113.7' }, 401],
    ['a page of another origin', code, { origin: 'http://evil.example' }, 403],
    ['another code', `${code.slice(0, -1)}_`, {}, 401],
    ['no code', '', {}, 400],
    ['a list', [code], {}, 400],
    ['the code of a key', KEY, {}, 401],
  ]
  await every(t, 'every way', async (t) => {
    for (const [name, sent, headers, status] of cases) t.equal((await signIn(gateway.admin, sent, headers)).status, status, name)
  })
  t.equal((await signIn(gateway.admin, code)).status, 201, 'and none of them has used it up')
})

t.test('is not made where others than this machine reach the listener', async (t) => {
  const clock = new FakeClock()
  for (const url of ['http://0.0.0.0:8081', 'http://192.168.0.5:8081', 'http://[::]:8081'])
    t.equal(new SignInLink(clock).make(url), undefined)
  for (const url of ['http://127.0.0.1:8081', 'http://[::1]:8081', 'http://localhost:8081'])
    t.match(new SignInLink(clock).make(url), `${url}/`)
})

const LINK = /signed in, once and within five minutes: (http:\S+)/

function home(t: Test): string {
  const folder = t.testdir()
  const listeners = 'server: { host: 127.0.0.1, port: 0 }\nadmin: { host: 127.0.0.1, port: 0 }\nstore: { url: "sqlite:headgate.db" }'
  writeFileSync(join(folder, 'headgate.yaml'), `${listeners}\nauth: { keys: [ { name: app, key: "${KEY}" } ] }\n${simulated()}`)
  return folder
}

for (const workers of [[], ['--workers', '1']])
  t.test(`a start prints it on a terminal ${workers.join(' ')}`, async (t) => {
    const [command, args] = plainNode([LAUNCHER, '--config', 'headgate.yaml', ...workers])
    const line = [command, ...args].map((word) => `'${word}'`).join(' ')
    const program = follow(spawn('script', ['-qefc', line, '/dev/null'], { cwd: home(t), stdio: ['ignore', 'pipe', 'pipe'] }))
    t.teardown(() => program.child.kill('SIGKILL'))
    const [, link = ''] = await program.until(LINK)
    const { origin } = new URL(link)
    t.equal((await signIn(origin, codeIn(link))).status, 201)
    t.equal((await signIn(origin, codeIn(link))).status, 401)
    program.child.kill('SIGTERM')
    await program.exited
    t.equal(program.out().split(codeIn(link)).length, 2, 'it stands there once')
  })

t.test('a pipe, which may be kept, gets none', async (t) => {
  const program = runProgram(['--config', 'headgate.yaml'], { cwd: home(t) })
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/^Control room: /m)
  program.child.kill('SIGTERM')
  await program.exited
  t.notMatch(program.out(), LINK)
  t.notMatch(program.out(), '#code=')
})
