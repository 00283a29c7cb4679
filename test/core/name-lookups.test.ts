/** Names are looked up once at a time, kept for a while, and never wait for a name that hangs. */
import t from 'tap'
import { type Address, type AddressReceiver, FRESH, MAX_STALE_MS, NameLookups } from '../../src/core/name-lookups.ts'
import { hostsAddresses, searchNames } from '../../src/core/resolver-files.ts'
import { eventually } from '../support/eventually.ts'

const at = (address: string): Address => ({ address, family: address.includes(':') ? 6 : 4 })

class Scene {
  time = 1_000_000
  /** Look-ups by the system that have no answer yet. */
  readonly open = new Map<string, AddressReceiver[]>()
  readonly begun: string[] = []
  byServers: Record<string, Address[]> = {}
  readonly servers: string[] = []
  readonly names = new NameLookups(
    {
      system: (host, receive) => {
        this.begun.push(host)
        this.open.set(host, [...(this.open.get(host) ?? []), receive])
      },
      servers: async (host) => {
        this.servers.push(host)
        return this.byServers[host] ?? []
      },
    },
    () => this.time,
  )

  ask(host: string): Promise<string> {
    return new Promise((resolve) =>
      this.names.addresses(host, (error, addresses) =>
        resolve(error ? `${error.code}` : addresses.map(({ address }) => address).join(' ')),
      ),
    )
  }

  reply(host: string, ...addresses: string[]): void {
    this.open.get(host)?.shift()?.(undefined, addresses.map(at))
  }

  fail(host: string, code: string): void {
    this.open.get(host)?.shift()?.(Object.assign(new Error(code), { code }), [])
  }
}

t.test('one look-up serves all that wait for it, and is kept', async (t) => {
  const scene = new Scene()
  const waiting = Promise.all(Array.from({ length: 20 }, () => scene.ask('a.test')))
  scene.reply('a.test', '192.0.2.1')
  t.same(new Set(await waiting), new Set(['192.0.2.1']))
  scene.time += FRESH - 1
  t.equal(await scene.ask('a.test'), '192.0.2.1')
  t.same(scene.begun, ['a.test'])
})

t.test('an old answer is renewed, and used where the newer one hangs or fails', async (t) => {
  const scene = new Scene()
  const first = scene.ask('a.test')
  scene.reply('a.test', '192.0.2.1')
  await first
  scene.time += FRESH
  const second = scene.ask('a.test')
  scene.reply('a.test', '192.0.2.2')
  t.equal(await second, '192.0.2.2', 'the newer one')
  scene.time += FRESH
  t.equal(await scene.ask('a.test'), '192.0.2.2', 'after a moment, the older one')
  scene.time += 1_000
  t.equal(await scene.ask('a.test'), '192.0.2.2', 'at once, while the look-up hangs')
  t.equal(scene.begun.length, 3, 'it is not looked up beside itself')
  scene.fail('a.test', 'EAI_AGAIN')
  t.equal(await scene.ask('a.test'), '192.0.2.2')
  scene.time += MAX_STALE_MS
  const last = scene.ask('a.test')
  scene.fail('a.test', 'EAI_AGAIN')
  t.equal(await last, 'EAI_AGAIN', 'not for ever')
  scene.time += 2_000
  const gone = scene.ask('a.test')
  scene.reply('a.test', '192.0.2.3')
  await gone
  scene.time += FRESH
  const unknown = scene.ask('a.test')
  scene.fail('a.test', 'ENOTFOUND')
  t.equal(await unknown, 'ENOTFOUND', 'a name that is gone is gone')
  t.equal(await scene.ask('a.test'), 'ENOTFOUND', 'and for a second that is the answer')
})

t.test('addresses that cannot be connected to are looked up again', async (t) => {
  const scene = new Scene()
  const first = scene.ask('a.test')
  scene.reply('a.test', '192.0.2.1')
  await first
  scene.names.doubt('a.test')
  t.equal(await scene.ask('a.test'), '192.0.2.1', 'not more than once a second')
  scene.time += 2_000
  scene.names.doubt('a.test')
  const second = scene.ask('a.test')
  scene.reply('a.test', '192.0.2.2')
  t.equal(await second, '192.0.2.2')
})

t.test('names that hang take one thread, and others go past them', async (t) => {
  const scene = new Scene()
  scene.byServers = { 'good.test': [at('192.0.2.9')] }
  for (let i = 0; i < 8; i++) void scene.ask(`silent${i}.test`)
  t.same(scene.begun, ['silent0.test'])
  scene.time += 300
  t.equal(await scene.ask('good.test'), '192.0.2.9', 'by queries of our own')
  t.same(scene.begun, ['silent0.test'], 'the other thread stays free')
  scene.time += FRESH
  const again = scene.ask('good.test')
  t.equal(await again, '192.0.2.9')
  await eventually('the others have been queried for too', () => scene.servers.length >= 9)
})

t.test('a name that only the system knows waits its turn', async (t) => {
  const scene = new Scene()
  void scene.ask('silent.test')
  const local = scene.ask('printer.local')
  await eventually('the name servers do not know it', () => scene.servers.includes('printer.local'))
  scene.fail('silent.test', 'EAI_AGAIN')
  scene.reply('printer.local', '192.0.2.5')
  t.equal(await local, '192.0.2.5')
})

t.test('the family that served comes first', async (t) => {
  const scene = new Scene()
  const first = scene.ask('a.test')
  scene.reply('a.test', '2001:db8::1', '192.0.2.1', '2001:db8::2')
  t.equal(await first, '2001:db8::1 192.0.2.1 2001:db8::2')
  scene.names.connected('a.test', 4)
  t.equal(await scene.ask('a.test'), '192.0.2.1 2001:db8::1 2001:db8::2')
})

t.test('hosts files and search lists are read as the system reads them', (t) => {
  const hosts = '127.0.0.1 localhost\n192.0.2.7\tollama OLLAMA.lan # ours\n::7 ollama\n#192.0.2.8 ollama\nnonsense ollama\n'
  t.same(hostsAddresses(hosts, 'Ollama'), [at('192.0.2.7'), at('::7')])
  t.same(hostsAddresses(hosts, 'ollama.lan'), [at('192.0.2.7')])
  t.same(hostsAddresses(hosts, 'other'), [])
  const settings = 'nameserver 10.0.0.10\nsearch models.svc.cluster.local svc.cluster.local\noptions ndots:5 timeout:1\n'
  t.same(searchNames(settings, 'vllm'), ['vllm.models.svc.cluster.local', 'vllm.svc.cluster.local', 'vllm'])
  t.same(searchNames(settings, 'api.example.com.'), ['api.example.com'])
  t.same(searchNames('nameserver 192.0.2.1', 'api.example.com'), ['api.example.com'])
  t.same(searchNames('domain corp.example', 'api.example.com'), ['api.example.com', 'api.example.com.corp.example'])
  t.end()
})
