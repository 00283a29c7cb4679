/** `headgate generations show`: what became of a request and what it cost, of a running gateway, of one with workers, and of a stopped one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePorts } from '../support/crash/configuration.ts'
import { KEY } from '../support/gateway.ts'
import { runProgram, serveProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.setTimeout(240_000)

for (const [name, more] of [
  ['one process', []],
  ['two workers', ['--workers', '2']],
] as const)
  t.test(name, async (t) => {
    const home = t.testdir()
    const [port, admin] = await freePorts(2)
    writeFileSync(
      join(home, 'headgate.yaml'),
      `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "sqlite:./ledger.db" }
auth: { keys: [ { name: app, key: "${KEY}", limit: "5.00" } ] }
${simulated('price: { prompt: "1", completion: "2", request: "0.5" }')}`,
    )
    const shown = async (...words: string[]) => {
      const program = runProgram(['generations', 'show', ...words, '--config', 'headgate.yaml'], { cwd: home })
      const { code } = await program.exited
      return { code, out: program.out(), err: program.err() }
    }
    const gateway = await serveProgram(['--config', 'headgate.yaml', ...more], { cwd: home })
    t.teardown(() => gateway.child.kill('SIGKILL'))
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await reply.arrayBuffer()
    const id = reply.headers.get('x-generation-id') ?? ''
    let found = await shown(id)
    // A worker hands its rows in a moment later.
    while (found.code === 1) found = await shown(id)
    for (const part of [
      /^generation +gen-/m,
      /^key +app$/m,
      /sim\/echo@sim +200 /,
      /settled completed/,
      /^ *request sim\/echo@sim +1 +0\.5 +0\.50$/m,
    ])
      t.match(found.out, part)
    t.match(found.out, /\$\d\.\d+ held, \$0\.5000\d+ charged, \$0\.\d+ given back\n$/)
    t.notMatch(found.out, KEY)
    const json = JSON.parse((await shown(id, '--json')).out) as { data: { id: string; money: { nano: number }[] } }
    t.equal(json.data.id, id)
    t.ok(json.data.money.reduce((sum, { nano }) => sum + nano, 0) >= 500_000_000, 'the lines add up to the charge')
    t.match(await shown('gen-none'), { code: 1, out: '', err: /No such generation/ })
    gateway.child.kill('SIGTERM')
    await gateway.exited
    t.equal((await shown(id)).out, found.out, 'the same from the store')
  })
