/** Keys of teams at rest and on their way out: nothing shows one, and what cannot be decrypted is never replaced by the operator's account. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { type ByokOptions, byokScene, encryptionKey, OPERATOR, refuses, SECOND, TEAM } from '../../support/byok-scene.ts'
import { every } from '../../support/every.ts'
import { sseAnswer } from '../../support/upstream.ts'

const message = (body: JsonObject): string => String((body.error as JsonObject).message)

async function stored(t: Test, options: ByokOptions = {}) {
  const directory = t.testdir()
  const scene = await byokScene(t, { directory, store: `sqlite:${join(directory, 'ledger.db')}`, ...options })
  /** Everything that the store has on the disk. */
  const disk = (): string =>
    readdirSync(directory)
      .filter((name) => name.startsWith('ledger.db'))
      .map((name) => readFileSync(join(directory, name), 'latin1'))
      .join('\n')
  const change = (statement: string): void => {
    const db = new DatabaseSync(join(directory, 'ledger.db'))
    db.exec(statement)
    db.close()
  }
  return { scene, disk, change }
}

t.test('no reply, log, metric, audit entry, record or byte of the store has a key, whatever its provider quotes', async (t) => {
  const { scene, disk } = await stored(t)
  const id = await scene.add(TEAM, { name: 'ours' })
  const replies: string[] = []
  for (const status of [400, 401, 402, 403, 404, 429, 500]) {
    scene.answers.set(TEAM, refuses(status, `wrong: ${TEAM} and "${TEAM}" of Bearer ${TEAM}`))
    for (const stream of [false, true]) replies.push((await scene.ask({ stream })).text)
    await scene.scene.clock.advance(70_000)
  }
  scene.answers.clear()
  replies.push((await scene.ask()).text)
  for (const path of ['/v1/byok', `/v1/byok/${id}`, '/v1/audit', '/v1/generations', '/v1/providers', '/v1/events'])
    replies.push(JSON.stringify((await scene.manage('GET', path)).body))
  replies.push(JSON.stringify((await scene.manage('POST', '/v1/byok', { provider: 'openai', key: `${TEAM} ` })).body))
  replies.push(JSON.stringify((await scene.manage('POST', '/v1/byok', { provider: TEAM, key: SECOND })).body))
  replies.push(JSON.stringify((await scene.manage('PATCH', `/v1/byok/${id}`, { key: SECOND })).body))
  const metrics = await fetch(`${scene.scene.gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  replies.push(await metrics.text())
  t.match(replies.join('\n'), /"label":"sk-t\.\.\.4567"/)
  // The provider that is not there was named by the caller itself.
  t.notMatch(replies.filter((text) => !text.includes('no such provider')).join('\n'), TEAM)
  t.notMatch(scene.logs.join('\n'), TEAM)
  t.notOk(disk().includes(TEAM) || disk().includes(SECOND), 'the disk')
  const entries = (await scene.manage('GET', '/v1/audit')).body.data as unknown as JsonObject[]
  const mine = entries.filter(({ subject }) => subject === id)
  t.match(mine, [{ action: 'byok_key.created', after: { label: 'sk-t...4567' } }, { action: 'byok_key.rotated' }])
  t.equal((await scene.manage('DELETE', `/v1/byok/${id}`)).status, 200)
  t.match((await scene.manage('GET', '/v1/byok')).body, { data: [], total_count: 0 })
})

t.test(
  'after a restart with another encryption key an entry is unusable, and the account of the operator is not used for it',
  async (t) => {
    const [first, second] = [encryptionKey(), encryptionKey()]
    const { scene } = await stored(t, { byok: `{ encryption_keys: [ "${first}" ] }` })
    const id = await scene.add(TEAM, { name: 'ours', allowed_api_key_hashes: [scene.hash] })
    await scene.restart(`{ encryption_keys: [ "${second}" ] }`)
    const { status, body } = await scene.ask()
    t.equal(status, 500)
    t.match(message(body), new RegExp(`^Your own key "ours" at openai cannot be used: .*${id}`))
    t.same(scene.arrived, [], 'no provider was called')
    t.match(scene.logs.join('\n'), /a key that a team brought cannot be decrypted/)
    await scene.scene.clock.advance(2_000)
    const events = (await scene.manage('GET', '/v1/events')).body.data as unknown as JsonObject[]
    const raised = events.find(({ type }) => type === 'headgate.provider.account')
    t.match(raised, { data: { problem: 'byok_unusable', setting: `byok/${id}` } })
    const stranger = ((await scene.manage('POST', '/v1/keys', { name: 'stranger' })).body as { key: string }).key
    t.equal((await scene.ask({}, undefined, stranger)).status, 200, 'a key that the entry does not name')
    t.same(scene.arrived.splice(0), [OPERATOR])
    await scene.restart(`{ encryption_keys: [ "${second}", "${first}" ] }`)
    t.equal((await scene.ask()).status, 200, 'a former key decrypts')
    t.same(scene.arrived.splice(0), [TEAM])
    const rotate = await fetch(`${scene.scene.gateway.admin}/byok/command`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ verb: 'rotate' }),
    })
    t.match(await rotate.json(), { rewrapped: 1, unusable: [], data: [{ id }] })
    await scene.restart(`{ encryption_keys: [ "${second}" ] }`)
    t.equal((await scene.ask()).status, 200, 'the new key alone')
    t.same(scene.arrived.splice(0), [TEAM])
    await scene.restart('{}')
    const refused = await scene.manage('POST', '/v1/byok', { provider: 'openai', key: SECOND })
    t.equal(refused.status, 409)
    t.match(message(refused.body), /byok\.encryption_keys/)
    t.equal((await scene.ask()).status, 500, 'nor without any')
    t.same(scene.arrived, [])
  },
)

t.test('a row that was changed in the database, or copied to another entry or provider, does not open', async (t) => {
  const { scene, change } = await stored(t)
  const id = await scene.add(TEAM)
  const other = await scene.add(SECOND, { allowed_user_ids: ['ann'] })
  const cases = {
    'a letter of the key': `UPDATE byok_key SET encrypted = substr(encrypted, 1, length(encrypted) - 6) || 'AAAAAA' WHERE id = '${id}'`,
    'the key of another entry': `UPDATE byok_key SET encrypted = (SELECT encrypted FROM byok_key WHERE id = '${other}') WHERE id = '${id}'`,
    'no text of this form': `UPDATE byok_key SET encrypted = 'sk-plain-text-key' WHERE id = '${id}'`,
    nothing: `UPDATE byok_key SET encrypted = '' WHERE id = '${id}'`,
  }
  await every(t, 'each change', async (t) => {
    for (const [name, statement] of Object.entries(cases)) {
      await scene.scene.gateway.running.close()
      change(statement)
      await scene.scene.gateway.restart()
      t.equal((await scene.ask()).status, 500, name)
      t.same(scene.arrived.splice(0), [], name)
    }
  })
  await scene.manage('PATCH', `/v1/byok/${id}`, { key: TEAM })
  t.equal((await scene.ask()).status, 200, 'written anew')
  t.same(scene.arrived.splice(0), [TEAM])
})

t.test('bad bodies name the field, and other callers see nothing', async (t) => {
  const { scene } = await stored(t)
  const id = await scene.add(TEAM)
  const base = { provider: 'openai', key: SECOND }
  await every(t, 'each body', async (t) => {
    for (const [body, field] of [
      [{ key: SECOND }, 'provider'],
      [{ provider: 'openai' }, 'key'],
      [{ ...base, provider: 'nowhere' }, 'provider'],
      [{ ...base, key: 'short' }, 'key'],
      [{ ...base, key: `${SECOND}\r\nx-evil: 1` }, 'key'],
      [{ ...base, name: '' }, 'name'],
      [{ ...base, is_fallback: 'yes' }, 'is_fallback'],
      [{ ...base, allowed_api_key_hashes: [] }, 'allowed_api_key_hashes'],
      [{ ...base, allowed_api_key_hashes: ['abc'] }, 'allowed_api_key_hashes'],
      [{ ...base, allowed_api_key_hashes: ['0'.repeat(64)] }, 'allowed_api_key_hashes'],
      [{ ...base, allowed_models: ['acme/none'] }, 'allowed_models'],
      [{ ...base, allowed_models: Array.from({ length: 101 }, () => 'acme/one') }, 'allowed_models'],
      [{ ...base, allowed_user_ids: Array.from({ length: 101 }, (_, at) => `u${at}`) }, 'allowed_user_ids'],
      [{ ...base, workspace_id: 'another' }, 'workspace_id'],
      [{ ...base, allow_models: [] }, 'allow_models'],
    ] as const) {
      const reply = await scene.manage('POST', '/v1/byok', body as unknown as JsonObject)
      t.equal(reply.status, 400, JSON.stringify(body).slice(0, 80))
      t.match(message(reply.body), field)
      t.notMatch(message(reply.body), SECOND)
    }
  })
  for (const [method, path] of [
    ['GET', '/v1/byok'],
    ['GET', `/v1/byok/${id}`],
    ['DELETE', `/v1/byok/${id}`],
  ]) {
    const reply = await fetch(`${scene.url}${path}`, { method, headers: { authorization: `Bearer ${scene.key}` } })
    t.equal(reply.status, 403, 'an ordinary key')
  }
  t.equal((await scene.manage('GET', `/v1/byok/${id.replaceAll(/./g, '0')}`)).status, 404)
  t.match((await scene.manage('GET', '/v1/byok?provider=openai')).body, {
    total_count: 1,
    data: [{ id, sort_order: 0, workspace_id: String }],
  })
  t.match((await scene.manage('GET', '/v1/byok?provider=other')).body, { total_count: 0 })
})

t.test('an error in the middle of a stream that quotes a key of no known form does not show it', async (t) => {
  const scene = await byokScene(t)
  const key = 'opaque/credential=of+the.team'
  await scene.add(key)
  for (const status of [400, 401, 429, 500]) {
    const error = { error: { message: `wrong: ${key}`, code: status, type: 'invalid_request_error' } }
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'be' } }] }
    scene.answers.set(key, () => sseAnswer([`data: ${JSON.stringify(chunk)}\n\n`, `data: ${JSON.stringify(error)}\n\n`]))
    const { text } = await scene.ask({ stream: true }, '/v1/responses')
    t.match(text, /"be"[\s\S]*error/, String(status))
    t.notOk(text.includes(key), `${status}: ${text.slice(-400)}`)
    scene.answers.set(key, () => ({ status, headers: { 'content-type': 'application/json' }, body: [JSON.stringify(error)] }))
    t.notOk((await scene.ask()).text.includes(key), `${status}, whole`)
    await scene.scene.clock.advance(70_000)
  }
  t.notOk(scene.logs.join('\n').includes(key))
})
