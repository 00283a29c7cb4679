/** Keys of teams, and who they are for: names, rotations and other models make no caller one of another team, and no operator a payer. */
import { createHash } from 'node:crypto'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { byokScene, encryptionKey, OPERATOR, refuses, SECOND, TEAM } from '../../support/byok-scene.ts'

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

t.test('a key that an application got belongs to the user of the key that consented, whatever that is called', async (t) => {
  const scene = await byokScene(t, { auth: 'sign_in: { callbacks: [ "https://app.example/cb" ] },' })
  await scene.add(TEAM, { allowed_user_ids: ['bob'] })
  const signIn = async (made: JsonObject): Promise<string> => {
    const { key } = (await scene.manage('POST', '/v1/keys', made)).body as { key: string }
    const post = async (path: string, body: JsonObject, secret?: string): Promise<JsonObject> => {
      const authorization = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
      const headers = { ...authorization, 'content-type': 'application/json' }
      return (await fetch(`${scene.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json() as Promise<JsonObject>
    }
    const demand = { callback_url: 'https://app.example/cb', code_challenge: CHALLENGE, code_challenge_method: 'S256' }
    const { id } = (await post('/v1/auth/keys/code', demand, key)).data as JsonObject
    return String((await post('/v1/auth/keys', { code: id ?? null, code_verifier: VERIFIER, code_challenge_method: 'S256' })).key)
  }
  const called = await signIn({ name: 'bob' })
  await scene.ask({}, undefined, called)
  t.same(scene.arrived.splice(0), [OPERATOR], 'a key that is called like a user')
  await scene.ask({}, undefined, await signIn({ name: 'phone', creator_user_id: 'bob' }))
  t.same(scene.arrived.splice(0), [TEAM], 'a key of the user')
})

t.test('a key keeps its entry through rotations, and the entry shows its hash of today', async (t) => {
  const scene = await byokScene(t, { byok: `{ encryption_keys: [ "${encryptionKey()}" ], operator_fallback: false }` })
  const id = await scene.add(TEAM, { allowed_api_key_hashes: [scene.hash] })
  let { key, hash } = scene
  for (let rotation = 0; rotation < 2; rotation++) {
    const { body } = await scene.manage('POST', `/v1/keys/${hash}/rotate`)
    ;({ key } = body as { key: string })
    hash = String((body.data as JsonObject).hash)
    await scene.ask({}, undefined, key)
    t.same(scene.arrived.splice(0), [TEAM])
    t.match((await scene.manage('GET', `/v1/byok/${id}`)).body.data, { allowed_api_key_hashes: [hash] })
    t.equal((await scene.manage('PATCH', `/v1/byok/${id}`, { allowed_api_key_hashes: [hash] })).status, 200, 'by the hash of today')
  }
  t.match((await scene.manage('PATCH', `/v1/byok/${id}`, { allowed_api_key_hashes: [scene.hash] })).body, {
    error: { message: /allowed_api_key_hashes\[0\]: no such key/ },
  })
  t.equal((await scene.manage('DELETE', `/v1/keys/${hash}`)).status, 200)
  t.match((await scene.manage('GET', `/v1/byok/${id}`)).body.data, { allowed_api_key_hashes: [] }, 'a key that is gone')
  await scene.ask({}, undefined, ((await scene.manage('POST', '/v1/keys', { name: 'other' })).body as { key: string }).key)
  t.same(scene.arrived.splice(0), [OPERATOR], 'and no other key takes its place')
})

t.test('without the fallback to the operator no other model of the request is at its expense', async (t) => {
  const scene = await byokScene(t, { byok: `{ encryption_keys: [ "${encryptionKey()}" ], operator_fallback: false }` })
  await scene.add(TEAM, { allowed_models: ['acme/one'] })
  scene.answers.set(TEAM, refuses(429, 'Rate limit reached'))
  const models = { models: ['acme/one', 'acme/other'] }
  t.equal((await scene.ask(models)).status, 429)
  t.notOk(scene.arrived.splice(0).includes(OPERATOR))
  await scene.add(SECOND, { allowed_models: ['acme/other'] })
  t.match((await scene.ask(models)).body, { usage: { is_byok: true } }, 'another key of the team serves the other model')
  t.notOk(scene.arrived.splice(0).includes(OPERATOR))
  t.equal((await scene.ask({ model: 'acme/other' })).status, 200)
})
