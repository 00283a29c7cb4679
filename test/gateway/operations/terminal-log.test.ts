/** Lines of the log on a real terminal (a pty of `script`, util-linux): for people there, as JSON in a pipe. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KEY } from '../../support/gateway.ts'
import { LAUNCHER } from '../../support/launcher.ts'
import { follow, plainNode, runProgram } from '../../support/program.ts'
import { simulated } from '../../support/simulated.ts'

t.setTimeout(280_000)

function folder(t: Test, log = ''): string {
  const home = t.testdir()
  writeFileSync(
    join(home, 'headgate.yaml'),
    `server: { host: 127.0.0.1, port: 0 }\nadmin: { host: 127.0.0.1, port: 0 }\nstore: { url: "memory:" }\n${log}\nauth: { keys: [ { name: app, key: "${KEY}" } ] }\n${simulated()}`,
  )
  return home
}

async function asked(url: string): Promise<void> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/none\u001b[31m', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await reply.arrayBuffer()
}

async function onTerminal(home: string): Promise<string> {
  const [command, args] = plainNode([LAUNCHER, '--config', 'headgate.yaml'])
  const line = [command, ...args].map((word) => `'${word}'`).join(' ')
  const program = follow(spawn('script', ['-qefc', line, '/dev/null'], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] }))
  const [, url = ''] = await program.until(/listens on (http:\S+) /)
  await asked(url)
  await program.until(/status.{0,3}400|status.{0,3}404/)
  program.child.kill('SIGTERM')
  await program.exited
  return program.out()
}

t.test('people read the log on a terminal', async (t) => {
  const out = await onTerminal(folder(t))
  t.match(out, /^headgate \d+\.\d+\.\d+: 1 model at 1 provider: sim\r?$/m)
  t.match(out, /^\d\d:\d\d:\d\d \w+ +.*status=40[04]/m)
  t.notMatch(out, '{"level"')
  t.notMatch(out, '\u001b[31m', 'a name that a caller chose moves no cursor')
})

t.test('writes JSON to a terminal with log.format json', async (t) => {
  t.match(await onTerminal(folder(t, 'log: { format: json }')), /^\{"level":.*"status":40[04]/m)
})

t.test('a pipe gets JSON', async (t) => {
  const program = runProgram(['--config', 'headgate.yaml'], { cwd: folder(t) })
  t.teardown(() => program.child.kill('SIGKILL'))
  const [, url = ''] = await program.until(/listens on (http:\S+) /)
  await asked(url)
  t.match(JSON.parse((await program.until(/^\{.*"status":40[04].*\}$/m))[0]), { client: 'chat' })
})
