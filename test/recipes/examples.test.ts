/** Folders of examples/: those of recipes are made from pages that tests follow, the others are followed here. */
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { paths, ROOT, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'
import { followPage, type Recipe } from './recipe.ts'

const folders = paths('examples/*/README.md').map((page) => page.split('/')[1] ?? '')
const recipes = new Set(paths('docs/recipes/*.md').map((page) => page.slice('docs/recipes/'.length, -'.md'.length)))

async function follow(t: Test, name: string): Promise<Recipe> {
  const folder = join(ROOT, 'examples', name)
  return await followPage(t, `examples/${name}/README.md`, { prepare: (to) => cpSync(folder, to, { recursive: true }) })
}

t.test('each folder has a title, a configuration, and a test that follows it', async (t) => {
  t.ok(folders.length >= 15, `${folders.length} folders`)
  const here = read('test/recipes/examples.test.ts')
  await every(t, 'every folder', async (t) => {
    for (const name of folders) {
      t.match(read(`examples/${name}/README.md`), /^# \S.+\n\n/, name)
      t.ok(recipes.has(name) || here.includes(`'${name}'`), `a test follows ${name}`)
      t.ok(existsSync(join(ROOT, 'examples', name, 'headgate.yaml')), `${name} has a configuration`)
    }
  })
})

t.test('keycloak: the realm and the configuration name the same clients, claims and addresses', async (t) => {
  const file = (name: string): string => read(join('examples', 'keycloak', name))
  const realm = JSON.parse(file('realm.json')) as { realm: string; clients: Record<string, unknown>[]; groups: { name: string }[] }
  const yaml = file('headgate.yaml')
  const { auth } = parse(yaml) as {
    auth: { issuers: { issuer: string; sign_in: { client_id: string; name: string }; login: { client_id: string } }[] }
  }
  const [{ issuer, sign_in: signIn, login }] = auth.issuers
  t.ok(issuer.endsWith(`/realms/${realm.realm}`))
  const client = (id: string): string => JSON.stringify(realm.clients.find(({ clientId }) => clientId === id))
  const page = file('README.md')
  const room = /<(http\S+\/control-room)\/>/.exec(page)?.[1]
  t.match(client(signIn.client_id), `"${room}/sign-in/${signIn.name}/callback"`)
  t.match(client(signIn.client_id), `"backchannel.logout.url":"${room}/sign-in/${signIn.name}/backchannel-logout"`)
  t.match(client(login.client_id), '"oauth2.device.authorization.grant.enabled":"true"')
  t.match(client(login.client_id), '"included.custom.audience":"headgate"')
  t.match(client('batch'), '"email_verified"')
  for (const { name } of realm.groups) t.match(yaml, `groups: /${name}`)
})

t.test('first-request: the simulator answers, and the key shows what it has used', async (t) => {
  const { next, done } = await follow(t, 'first-request')
  const reply = JSON.parse(await next()) as { choices: { message: { content: string } }[]; usage: { cost: number } }
  t.match(reply.choices[0].message.content, /Hello/)
  t.ok(reply.usage.cost > 0)
  t.match(await next(), /event: message_start[\s\S]*event: message_stop/)
  const key = JSON.parse(await next()) as { data: { limit: number; usage: number; limit_remaining: number } }
  t.equal(key.data.limit, 1)
  t.ok(key.data.usage >= reply.usage.cost && key.data.limit_remaining < 1)
  done()
})

t.test('redact-emails: the model sees a placeholder, and injection is refused', async (t) => {
  const { next, done } = await follow(t, 'redact-emails')
  const redacted = await next()
  t.match(redacted, /\[EMAIL\]/)
  t.notMatch(redacted, /ann@/)
  t.match(JSON.parse(await next()), { error: { code: 403, metadata: { patterns: [/ignore all previous instructions/i] } } })
  done()
})

t.test('rate-limits: the third request is refused, and says when to come back', async (t) => {
  const { next, done } = await follow(t, 'rate-limits')
  const out = await next()
  t.same(
    [...out.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['200', '200', '429'],
  )
  t.match(out, /^retry-after: \d+\r?$/im)
  done()
})

t.test('policy-tests: all of them pass', async (t) => {
  const { next, done } = await follow(t, 'policy-tests')
  t.match(await next(), /3 passed|ok.*\n.*ok.*\n.*ok/)
  done()
})
