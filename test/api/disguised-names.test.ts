/** Names that would look like other ones: they lose what disguises them, and one that is the beginning of another key's hash names neither. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { every } from '../support/every.ts'
import { KEY, oneModel, startGateway } from '../support/gateway.ts'

const MANAGER = 'sk-manager-0123456789abcdef0123456789'
const DISGUISED = 'ops\u202egnp.exe\u001b[2J\r\n\u2066\u200f\u0000\u2028'
const SHOWN = 'opsgnp.exe[2J'

interface Key {
  hash: string
  name: string
  creator_user_id: string | null
  disabled: boolean
}

t.test('names lose controls and signs of direction where they come in and where old ones are shown', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'ledger.db')
  const gateway = await startGateway(
    `store: { url: "sqlite:${file}" }
auth:
  sign_in: {}
  keys: [ { name: app, key: "${KEY}" }, { name: boss, key: "${MANAGER}", management: true } ]
${oneModel('http://127.0.0.1:9', 'openai-chat')}`,
    { directory },
  )
  t.teardown(() => gateway.close())
  const send = async (
    path: string,
    body: unknown,
    { key = MANAGER, method = 'POST' } = {},
  ): Promise<{ status: number; json: { data: Key } }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const reply = await fetch(`${gateway.url}${path}`, { method, headers, body: JSON.stringify(body) })
    return { status: reply.status, json: (await reply.json()) as { data: Key } }
  }
  const list = async (): Promise<Key[]> =>
    ((await (await fetch(`${gateway.url}/v1/keys`, { headers: { authorization: `Bearer ${MANAGER}` } })).json()) as { data: Key[] }).data

  const made = await send('/v1/keys', { name: DISGUISED, creator_user_id: `a${DISGUISED}` })
  t.match(made.json.data, { name: SHOWN, creator_user_id: `a${SHOWN}` })
  const path = `/v1/keys/${made.json.data.hash}`
  t.match((await send(path, { name: `b${DISGUISED}` }, { method: 'PATCH' })).json.data, { name: `b${SHOWN}` })
  t.equal((await send('/v1/keys', { name: '\u202e\u200b \u0007' })).status, 400, 'a name of nothing that can be seen')
  t.equal((await send('/v1/keys', { name: 'ünï 👩‍💻 नाम' })).json.data.name, 'ünï 👩‍💻 नाम', 'scripts and emoji stay')
  t.match((await send('/v1/guardrails', { name: DISGUISED, phrases: ['x'] })).json.data, { name: SHOWN })

  const consent = {
    callback_url: 'http://127.0.0.1:3000/back',
    key_label: DISGUISED,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
  const code = ((await send('/v1/auth/keys/code', consent, { key: KEY })).json.data as unknown as { id: string }).id
  t.equal(
    (await send('/v1/auth/keys', { code, code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', code_challenge_method: 'S256' }))
      .status,
    200,
  )
  t.equal((await list()).filter(({ name }) => name === SHOWN).length, 1, 'an application that signs in')

  await gateway.running.drain.begin()
  await gateway.close()
  const database = new DatabaseSync(file)
  database.prepare('update api_key set name = ?, creator = ? where hash = ?').run(`old${DISGUISED}`, DISGUISED, made.json.data.hash)
  database.close()
  const again = await startGateway(
    `store: { url: "sqlite:${file}" }\nauth: { keys: [ { name: boss, key: "${MANAGER}", management: true } ] }\n${oneModel('http://127.0.0.1:9', 'openai-chat')}`,
    { directory },
  )
  t.teardown(() => again.close())
  const reply = await fetch(`${again.url}${path}`, { headers: { authorization: `Bearer ${MANAGER}` } })
  t.match(await reply.json(), { data: { name: `old${SHOWN}`, creator_user_id: SHOWN } }, 'a name that an earlier version stored')
})

t.test('a name that is the beginning of another hash names neither key', async (t) => {
  const gateway = await startGateway(oneModel('http://127.0.0.1:9', 'openai-chat'))
  t.teardown(() => gateway.close())
  const command = async (body: object): Promise<{ status: number; text: string }> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
    const reply = await fetch(`${gateway.admin}/keys/command`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, text: await reply.text() }
  }
  const create = async (name: string): Promise<Key> =>
    (JSON.parse((await command({ verb: 'create', fields: { name } })).text) as { data: Key }).data
  const victim = await create('victim')
  const other = await create(victim.hash.slice(0, 12))
  await every(t, 'every verb', async (t) => {
    for (const verb of ['disable', 'enable', 'rotate', 'delete']) {
      const { status, text } = await command({ verb, key: victim.hash.slice(0, 12) })
      t.equal(status, 400, verb)
      t.ok(text.includes(victim.hash) && text.includes(other.hash), `${verb}: both are named whole`)
    }
  })
  t.equal((await command({ verb: 'disable', key: victim.hash })).status, 200, 'a whole hash names its key')
  await create(victim.hash)
  t.equal((await command({ verb: 'enable', key: victim.hash })).status, 200, 'whatever another is called')
  const { data } = JSON.parse((await command({ verb: 'list' })).text) as { data: Key[] }
  t.match(
    data.find(({ hash }) => hash === victim.hash),
    { disabled: false },
  )
  t.match(
    data.find(({ hash }) => hash === other.hash),
    { disabled: false },
  )
})
