// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references of their own
/** Secrets that the configuration refers to: where they come from, how a new one is taken, and what an unreachable place does. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { start } from '../../../src/app/start.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { BASE, type Gateway, KEY } from '../../support/gateway.ts'
import { BODY, problemAtStart, secretScene, started } from '../../support/secret-scene.ts'

t.test('a secret comes from a file, a command or a variable, without the line end behind it', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  writeFileSync(join(directory, 'key'), 'sk-from-file\n')
  const gateway = await started(t, yaml('${file:key}'), { directory })
  await gateway.post('/v1/chat/completions', BODY)
  await gateway.reconfigure(yaml(`\${file:${join(directory, 'key')}}`))
  await gateway.post('/v1/chat/completions', BODY)
  await gateway.reconfigure(yaml("${command:printf 'sk-from-%s' command}"))
  await gateway.post('/v1/chat/completions', BODY)
  await gateway.reconfigure(yaml('sk-${env:NAME:-unset}-${file:key}'))
  await gateway.post('/v1/chat/completions', BODY)
  t.same(keys(), ['sk-from-file', 'sk-from-file', 'sk-from-command', 'sk-unset-sk-from-file'])
})

/** Ways to replace a mounted file in one step: the secret that is written first, and the next ones. */
const MOUNTS: Record<string, (directory: string) => (secret: string) => void> = {
  'a link that is replaced': (directory) => {
    let count = 0
    return (secret) => {
      const name = `file-${++count}`
      writeFileSync(join(directory, name), secret)
      symlinkSync(name, join(directory, 'next'))
      renameSync(join(directory, 'next'), join(directory, 'key'))
    }
  },
  // As the kubelet writes it (k8s.io/kubernetes, pkg/volume/util/atomic_writer.go): `key` is a link into `..data`, a link to a directory
  // that is named by the time. A rename replaces `..data`, and the directory before it is removed.
  'a volume of Kubernetes': (directory) => {
    let count = 0
    return (secret) => {
      const name = `..2026_01_05_12_00_0${++count}.123456789`
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, 'key'), secret)
      symlinkSync(name, join(directory, '..data_tmp'))
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
      if (count === 1) symlinkSync('..data/key', join(directory, 'key'))
      else rmSync(join(directory, `..2026_01_05_12_00_0${count - 1}.123456789`), { recursive: true })
    }
  },
}

for (const [name, mounted] of Object.entries(MOUNTS)) {
  t.test(`${name} under load is taken, and no request fails`, async (t) => {
    const { directory, yaml, keys } = await secretScene(t)
    const write = mounted(directory)
    write('sk-first')
    const file = join(directory, 'headgate.yaml')
    writeFileSync(file, `${BASE}auth: { keys: [ { name: test, key: "${KEY}" } ] }\n${yaml('${file:key}')}`)
    const running = await start({ configFile: file, env: {}, log: () => {}, watch: true })
    t.teardown(() => running.close())
    const statuses = new Set<number>()
    let done = false
    const call = async (): Promise<void> => {
      const reply = await fetch(`${running.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(BODY),
      })
      statuses.add(reply.status)
      await reply.text()
    }
    const load = Array.from({ length: 4 }, async () => {
      while (!done) await call()
    })
    for (const secret of ['sk-first', 'sk-second', 'sk-third']) {
      if (secret !== 'sk-first') write(secret)
      await eventually(`requests with ${secret}`, () => keys().includes(secret))
    }
    done = true
    await Promise.all(load)
    t.same([...statuses], [200])
  })
}

/** As Vault answers: https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2. */
async function startVault(t: Test) {
  const state = { secrets: { key: 'sk-vault' } as Record<string, unknown>, status: 200, reads: 0 }
  const server = createServer((request, response) => {
    state.reads++
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const { 'x-vault-token': token, 'x-vault-namespace': namespace } = request.headers
    if (state.status !== 200) answer(state.status, { errors: ['internal error'] })
    else if (token !== 'hvs.right' || namespace !== 'team') answer(403, { errors: ['permission denied'] })
    else if (request.url === '/v1/kv/app') answer(200, { data: { key: 'sk-version-one' }, lease_duration: 3600 })
    else if (request.url !== '/v1/secret/data/app%20one') answer(404, { errors: [] })
    else answer(200, { data: { data: state.secrets, metadata: { version: 1, deletion_time: '' } } })
  })
  server.listen(0, '127.0.0.1')
  await eventually('Vault listens', () => server.listening)
  t.teardown(() => server.close())
  const env = {
    VAULT_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    VAULT_TOKEN: 'hvs.right',
    VAULT_NAMESPACE: 'team',
  }
  return { state, env }
}

const V2 = '${vault:secret/data/app one#key}'

t.test('a secret comes from either version of the KV engine of Vault', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  const { env } = await startVault(t)
  const gateway = await started(t, yaml(V2), { directory, env })
  await gateway.post('/v1/chat/completions', BODY)
  await gateway.reconfigure(yaml('${vault:kv/app#key}'))
  await gateway.post('/v1/chat/completions', BODY)
  t.same(keys(), ['sk-vault', 'sk-version-one'])
})

t.test('a secret that changes in Vault is taken at the next look, and the last one stays while Vault is down', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  const { env, state } = await startVault(t)
  const clock = new FakeClock()
  const gateway = await started(t, `secrets: { refresh: 60s }\n${yaml(V2)}`, { directory, env, clock })
  const look = async (): Promise<void> => {
    const before = state.reads
    clock.advance(60_000)
    await eventually('a look at the secret', () => state.reads > before)
  }
  state.secrets = { key: 'sk-rotated' }
  await look()
  await eventually('a reload', () => gateway.logs.some((line) => line.includes('reloaded')))
  state.status = 503
  await look()
  const alert = await eventually('an alert', () => gateway.logs.find((line) => line.includes('its last value stays in use')))
  await gateway.post('/v1/chat/completions', BODY)
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  t.match(alert, /"secret":"vault:secret\/data\/app one#key","why":"status 503"/)
  t.match(metrics, /headgate_secret_failures_total 1\n/)
  t.same(keys(), ['sk-rotated'])
  await gateway.reconfigure(`secrets: { refresh: 60s }\n${yaml(V2)}`)
  const reloads = gateway.logs.filter((line) => line.includes('configuration reloaded'))
  t.match(
    reloads.at(-1),
    /"level":40.*"secrets":\["vault:secret\/data\/app one#key"\].*but secrets cannot be read/,
    'a reload that took no new text',
  )
  t.notMatch(reloads[0], /cannot be read/)
  state.status = 200
  state.secrets = { key: 'sk-rotated-again' }
  await look()
  await eventually('the newest key', async () => {
    await gateway.post('/v1/chat/completions', BODY)
    return keys().includes('sk-rotated-again')
  })
})

/** Reports to an operator about a secret that cannot be read again. */
async function alarms({ logs, admin }: Gateway) {
  const alert = await eventually('an alert', () => logs.find((line) => line.includes('its last value stays in use')))
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  const ready = await fetch(`${admin}/readyz`)
  return { alert: JSON.parse(alert) as unknown, failures: /headgate_secret_failures_total (\d+)/.exec(metrics)?.[1], ready: ready.status }
}

t.test('a Vault that refuses later is an alert and a count, and the gateway stays ready with the last value', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  const { env, state } = await startVault(t)
  const clock = new FakeClock()
  const gateway = await started(t, `secrets: { refresh: 60s }\n${yaml(V2)}`, { directory, env, clock })
  state.status = 403
  clock.advance(60_000)
  t.match(await alarms(gateway), {
    alert: { level: 50, secret: 'vault:secret/data/app one#key', why: 'status 403' },
    failures: '1',
    ready: 200,
  })
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.same(keys(), ['sk-vault'])
})

/** Writes the id of a process that it has started, and waits for it. */
const HANGS = 'sleep 600 & echo $! > pid; wait'

async function hasEnded(directory: string): Promise<boolean> {
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
  return await eventually('the end of what the command has started', () => !existsSync(`/proc/${pid}`))
}

t.test('a command that hangs at the start is an error after ten seconds, and what it started ends', async (t) => {
  const { directory, yaml } = await secretScene(t)
  const clock = new FakeClock()
  const problem = problemAtStart(yaml(`\${command:${HANGS}}`), { directory, env: process.env, clock })
  await eventually('the command runs', () => existsSync(join(directory, 'pid')))
  await clock.advance(10_000)
  t.equal(await problem, `providers.acme.key: the secret command:${HANGS} cannot be read: it ran longer than 10 s`)
  t.ok(await hasEnded(directory))
})

t.test('a command that hangs later is an alert and a count, and the last value stays in use', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  const clock = new FakeClock()
  const line = `test -e hang && (${HANGS}); printf sk-first`
  const gateway = await started(t, `secrets: { refresh: 60s }\n${yaml(`\${command:${line}}`)}`, { directory, env: process.env, clock })
  writeFileSync(join(directory, 'hang'), '')
  await clock.advance(60_000)
  await eventually('the command runs', () => existsSync(join(directory, 'pid')))
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200, 'requests do not wait for it')
  await clock.advance(10_000)
  t.match(await alarms(gateway), {
    alert: { level: 50, secret: `command:${line}`, why: 'it ran longer than 10 s' },
    failures: '1',
    ready: 200,
  })
  t.equal((await gateway.post('/v1/chat/completions', BODY)).status, 200)
  t.same(keys(), ['sk-first', 'sk-first'])
  t.ok(await hasEnded(directory))
})

t.test('a start without a readable secret fails with the place and the reason', async (t) => {
  const { directory, yaml } = await secretScene(t)
  const { env } = await startVault(t)
  writeFileSync(join(directory, 'empty'), '\n')
  writeFileSync(join(directory, 'long'), 'x'.repeat(70_000))
  const problems = (key: string, more: Record<string, string> = {}): Promise<string> =>
    problemAtStart(yaml(key), { directory, env: { ...env, ...more } })
  const cases: [key: string, why: string, more?: Record<string, string>][] = [
    ['${file:missing}', 'the secret file:missing cannot be read: ENOENT'],
    ['${file:empty}', 'the secret file:empty cannot be read: it is empty'],
    ['${file:long}', 'the secret file:long cannot be read: it is longer than 65536 bytes'],
    ['${file:.}', 'the secret file:. cannot be read: it is no file'],
    ['${command:echo sk-hidden; exit 3}', 'the secret command:echo sk-hidden; exit 3 cannot be read: it ended with code 3'],
    ['${vault:secret/data/app one#no}', 'the secret vault:secret/data/app one#no cannot be read: the secret has no text in the field no'],
    ['${vault:secret/data/app one}', 'the secret vault:secret/data/app one cannot be read: expected vault:PATH#FIELD'],
    [V2, 'the secret vault:secret/data/app one#key cannot be read: status 403', { VAULT_TOKEN: 'hvs.wrong' }],
    [V2, 'the secret vault:secret/data/app one#key cannot be read: VAULT_ADDR is not set to the address of the server', { VAULT_ADDR: '' }],
    ['file:key', 'found the place of a secret as plain text, expected it in braces with a $ before them'],
  ]
  await every(t, 'each is refused', async (t) => {
    for (const [key, why, more] of cases) t.equal(await problems(key, more), `providers.acme.key: ${why}`, key)
  })
})

t.test('a reference in a comment is not read', async (t) => {
  const { directory, yaml, keys } = await secretScene(t)
  const gateway = await started(t, `# key: "\${file:missing}"\n${yaml('sk-plain')}`, { directory })
  await gateway.post('/v1/chat/completions', BODY)
  t.same(keys(), ['sk-plain'])
})
