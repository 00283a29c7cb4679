// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations hold references of their own
/** The key that encrypts keys of teams, encrypted itself by AWS KMS, Google Cloud KMS or Azure Key Vault: from outside, with its outages. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { byokWrapKey } from '../../../src/cli/byok-wrap-key.ts'
import { check } from '../../../src/cli/check.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { byokScene, TEAM } from '../../support/byok-scene.ts'
import { FakeClock } from '../../support/clock.ts'
import { type KeyServiceStandIn, startAwsKms, startAzureKeyVault, startGoogleKms } from '../../support/clouds/key-services.ts'
import { HIDDEN } from '../../support/clouds/secret-stores.ts'
import { printed } from '../../support/printed.ts'
import { problemAtStart } from '../../support/secret-scene.ts'

/** The time of the gateway's clock, or of this machine, by which commands sign. */
class Times extends FakeClock {
  isMachine = true
  /** The gateway's. */
  gateway: Pick<Clock, 'now'> = new FakeClock()

  override now(): number {
    return this.isMachine ? Date.now() : this.gateway.now()
  }
}

const SERVICES: Record<string, (t: Test, clock: Clock, directory: string) => Promise<KeyServiceStandIn>> = {
  'AWS KMS': startAwsKms,
  'Google Cloud KMS': startGoogleKms,
  'Azure Key Vault': startAzureKeyVault,
}

interface Scene {
  readonly service: KeyServiceStandIn
  readonly directory: string
  readonly clock: Times
  /** Makes a key with the command, and returns the reference. */
  wrap(key: string): Promise<string>
}

async function setUp(t: Test, name: string): Promise<Scene> {
  const directory = t.testdir()
  const clock = new Times()
  const service = await (SERVICES[name] ?? startAwsKms)(t, clock, directory)
  return {
    service,
    directory,
    clock,
    wrap: async (key) => {
      clock.isMachine = true
      const { code, out, error } = await printed((streams) => byokWrapKey(key, { env: service.env, streams }))
      t.equal(code, 0, error)
      clock.isMachine = false
      return out.trim()
    },
  }
}

const section = (...references: string[]): string => `{ encryption_keys: [ ${references.map((each) => `"${each}"`).join(', ')} ] }`

for (const name of Object.keys(SERVICES))
  t.test(`${name} encrypts the key: it is opened once by a process, and rotates`, async (t) => {
    const { service, directory, clock, wrap } = await setUp(t, name)
    const [one, two] = service.keys
    const first = await wrap(one)
    t.ok(first.startsWith(`\${${one}#`), first)
    t.notSame(await wrap(one), first, 'each is a key of its own')
    service.done.length = 0
    const store = `sqlite:${join(directory, 'store.db')}`
    const scene = await byokScene(t, { byok: section(first), env: service.env, directory, store })
    clock.gateway = scene.scene.clock
    await scene.add(TEAM)
    t.equal((await scene.ask()).status, 200)
    t.strictSame(service.done, ['decrypt'])

    service.down = { status: 503, body: [HIDDEN] }
    await scene.scene.clock.advance(3 * 3_600_000)
    t.equal((await scene.ask()).status, 200, 'an outage is nothing to a process that runs')
    t.strictSame(service.done, ['decrypt'], 'it is not fetched again')
    t.notMatch(scene.logs.join(''), 'cannot be read')
    service.down = undefined

    await scene.restart()
    t.equal((await scene.ask()).status, 200)
    t.strictSame(service.done, ['decrypt', 'decrypt'])

    const second = await wrap(two)
    await scene.restart(section(second, first))
    t.equal((await scene.ask()).status, 200, 'the key before opens what it encrypted')
    const reply = await fetch(`${scene.scene.gateway.admin}/byok/command`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ verb: 'rotate' }),
    })
    t.match(await reply.json(), { rewrapped: 1, unusable: [] })
    service.denied.add(one)
    await scene.restart(section(second))
    t.equal((await scene.ask()).status, 200)
    t.equal(scene.arrived.at(-1), TEAM)
    t.notMatch(scene.logs.join(''), HIDDEN)
  })

t.test('what cannot be opened is an error at the start, with the place and the reason', async (t) => {
  for (const name of Object.keys(SERVICES))
    await t.test(name, async (t) => {
      const { service, wrap } = await setUp(t, name)
      const [one, two] = service.keys
      const good = await wrap(one)
      const [scheme = ''] = one.split(':')
      const text = good.slice(good.indexOf('#') + 1, -1)
      const atStart = async (reference: string): Promise<string> =>
        await problemAtStart(`byok: ${section(reference)}\nproviders: { sim: { dialect: sim } }\n`, {
          env: service.env,
          clock: new FakeClock(),
        })
      const CASES: readonly [name: string, reference: string, reason: RegExp][] = [
        ['another key', `\${${two}#${text}}`, /replied with status 400/],
        ['a text that was changed', good.replace('#', '#AAAA'), /replied with status 400/],
        ['no text', `\${${one}}`, /expected [a-z-]+:KEY#TEXT, as headgate byok wrap-key writes it/],
        ['no key', `\${${scheme}:#${text}}`, /expected [a-z-]+:KEY#TEXT/],
        ['a key of another form', `\${${scheme}:nothing/../such#${text}}`, /expected|AWS_REGION/],
      ]
      for (const [what, reference, reason] of CASES) t.match(await atStart(reference), reason, what)
      service.denied.add(one)
      t.match(await atStart(good), service.denial, 'a right that is missing')
      service.denied.clear()
      service.down = { status: 500, body: [HIDDEN] }
      const down = await atStart(good)
      t.match(down, 'replied with status 500', 'an outage')
      t.match(down, 'byok.encryption_keys')
      t.notMatch(down, HIDDEN)
    })
})

t.test('check opens the key too, and refuses one that is none', async (t) => {
  const { service, directory, clock, wrap } = await setUp(t, 'AWS KMS')
  const file = join(directory, 'headgate.yaml')
  const run = async (reference: string): Promise<{ code: number; text: string }> => {
    writeFileSync(
      file,
      `byok: ${section(reference)}\nproviders: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }\n`,
    )
    const { code, out, error } = await printed((streams) => check(file, service.env, streams, () => undefined))
    return { code, text: out + error }
  }
  const reference = await wrap(service.keys[0])
  clock.isMachine = true
  t.equal((await run(reference)).code, 0)
  service.denied.add(service.keys[0])
  const refused = await run(reference)
  t.equal(refused.code, 1)
  t.match(refused.text, 'AccessDeniedException')
})

t.test('the command names what is wrong with a key', async (t) => {
  const { service, clock } = await setUp(t, 'AWS KMS')
  clock.isMachine = true
  const run = async (key: string): Promise<string> => {
    const { code, error } = await printed((streams) => byokWrapKey(key, { env: service.env, streams }))
    t.equal(code, 1)
    return error
  }
  t.match(await run('1234abcd'), 'expected a key as aws-kms:KEY, google-kms:KEY, azure-keyvault-key:KEY')
  t.match(await run('aws-kms:alias/gateway'), 'neither AWS_REGION nor the ARN names a region')
  t.match(await run('aws-kms:a b'), 'expected the ARN, the id or the alias of a key')
  t.match(await run('google-kms:acme'), 'expected a key as projects/P/locations/L/keyRings/R/cryptoKeys/K')
  t.match(
    await run('azure-keyvault-key:https://acme.example/keys/one/v1'),
    'expected a key as https://VAULT.vault.azure.net/keys/NAME/VERSION',
  )
  service.denied.add(service.keys[0])
  t.match(await run(service.keys[0]), service.denial)
})
