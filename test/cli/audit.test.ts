/** `headgate audit`: from the running gateway and from its store, and what a check says of a store that was edited. */
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { type AuditFlags, audit } from '../../src/cli/audit.ts'
import { keys } from '../../src/cli/keys.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { type Printed, printed } from '../support/printed.ts'
import { serveProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'

async function scene(t: Test) {
  const home = t.testdir()
  const config = join(home, 'headgate.yaml')
  const file = join(home, 'ledger.db')
  writeFileSync(
    config,
    `server: { port: 0 }
admin: { port: ${(await freePorts(1))[0]} }
store: { url: "sqlite:${file}" }
auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef" }, { name: boss, key: "${BOSS}", management: true } ] }
${simulated()}`,
  )
  const run = (words: string, flags: AuditFlags = {}): Promise<Printed> =>
    printed((streams) => audit(words.split(' '), { config, ...flags }, streams))
  const key = (words: string): Promise<Printed> => printed((streams) => keys(words.split(' '), { config }, streams))
  return { config, file, run, key }
}

const entriesIn = ({ out }: Printed): JsonObject[] => list(object(JSON.parse(out)).data).map(object)
const receiptIn = ({ out }: Printed): string => /[0-9]+:[0-9a-f]{64}/.exec(out)?.[0] ?? ''

t.test('changes with and without a gateway are listed, checked and exported', async (t) => {
  const { config, run, key } = await scene(t)
  t.match(await run('list'), { code: 1, error: /no gateway listens/ }, 'there is no store yet')
  t.equal((await key('create first')).code, 0)
  t.match(await run('verify'), { code: 0, out: /^1 entries are whole/ })
  const program = await serveProgram(['--config', config])
  t.teardown(() => program.child.kill('SIGKILL'))
  t.equal((await key('create second')).code, 0)
  t.equal((await key('disable second')).code, 0)
  const running = await run('list', { json: true })
  const { username } = userInfo()
  t.match(entriesIn(running), [
    { action: 'key.created', actor: { kind: 'command_line', id: username }, address: null },
    { action: 'configuration.loaded', actor: { kind: 'configuration' }, subject: config },
    { action: 'key.created', actor: { kind: 'admin_token' }, address: '127.0.0.1', after: { name: 'second' } },
    { action: 'key.changed', before: { disabled: false }, after: { disabled: true } },
  ])
  const exported = await run('export')
  const lines = exported.out
    .trim()
    .split('\n')
    .map((line) => object(JSON.parse(line)))
  t.same(lines, entriesIn(running))
  for (const { hash: stated, ...entry } of lines) {
    // RFC 8785, of an object whose members hold texts, whole numbers and further such objects.
    const canonical = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, each]) => [name, canonical(each)]),
          )
        : value
    t.equal(hash('sha256', JSON.stringify(canonical(entry))), stated, 'a reader without headgate finds the same hash')
  }
  t.match(exported.error, new RegExp(`receipt: 4:${lines.at(-1)?.hash}`))
  t.match(entriesIn(await run('list', { json: true, actor: 'admin_token', newest: true })), [{ sequence: 4 }, { sequence: 3 }])
  t.match(entriesIn(await run('list', { json: true, action: 'key.changed' })), [{ sequence: 4 }])
  t.match(await run('list', { action: 'key.eaten' }), { code: 1, error: /action/ })
  t.match(await run('list'), { code: 0, out: /key\.changed/ })
  const checked = await run('verify')
  t.match(await run('verify', { expect: receiptIn(checked) }), { code: 0 })
  t.match(await run('verify', { expect: 'nonsense' }), { code: 1, error: /expect: expected a receipt/ })
  t.match(await run('burn'), { code: 2 })
})

t.test('a store that was edited, and one that was restored, exit with 1 and name the entry', async (t) => {
  const { file, run, key } = await scene(t)
  for (const name of ['first', 'second', 'third']) await key(`create ${name}`)
  const receipt = receiptIn(await run('verify'))
  const db = new DatabaseSync(file)
  db.exec(`DELETE FROM audit_entry WHERE sequence = 3`)
  db.exec(`UPDATE audit_head SET sequence = 2, hash = (SELECT hash FROM audit_entry WHERE sequence = 2)`)
  db.close()
  t.match(await run('verify'), { code: 0 }, 'an older store is whole in itself')
  t.match(await run('verify', { expect: receipt }), { code: 1, error: /entry 3 does not fit: it is missing: the receipt names 3/ })
  const again = new DatabaseSync(file)
  again.exec(`UPDATE audit_entry SET entry = replace(entry, 'first', 'other') WHERE sequence = 1`)
  again.close()
  t.match(await run('verify'), { code: 1, error: /entry 1 does not fit: it was changed/ })
  t.match(JSON.parse((await run('verify', { json: true })).out), { verdict: 'broken', first_bad: { sequence: 1 } })
})

t.test('two workers make one chain, and a kill in the middle leaves no key without its entry', async (t) => {
  const { config, file, run } = await scene(t)
  const program = await serveProgram(['--config', config, '--workers', '2'])
  t.teardown(() => program.child.kill('SIGKILL'))
  const exited = new Promise((resolve) => program.child.once('exit', resolve))
  let made = 0
  const client = async (name: number): Promise<void> => {
    for (let index = 0; ; index++) {
      // A connection each, so that both workers get some.
      const reply = await fetch(`${program.url}/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ name: `${name}.${index}` }),
      }).catch(() => undefined)
      if (reply?.status !== 201) return
      if (++made === 60) program.child.kill('SIGKILL')
    }
  }
  await Promise.all([1, 2, 3, 4].map(client))
  await exited
  t.ok(made >= 60)
  const checked = await eventually('the workers have left the store', async () => {
    const found = await run('verify')
    return found.code === 0 && found
  })
  t.match(checked.out, /entries are whole/)
  const db = new DatabaseSync(file)
  const stored = db
    .prepare('SELECT identity FROM api_key ORDER BY identity')
    .all()
    .map(({ identity }) => identity)
  const entered = db.prepare(`SELECT subject FROM audit_entry WHERE action = 'key.created' ORDER BY subject`).all()
  db.close()
  t.ok(stored.length >= made, 'each key that was replied with')
  t.same(
    entered.map(({ subject }) => subject),
    stored,
    'one entry for each key, and no other',
  )
  t.match(entriesIn(await run('list', { json: true, newest: true }))[0], {
    actor: { kind: 'management_key', name: 'boss' },
    address: '127.0.0.1',
  })
})
