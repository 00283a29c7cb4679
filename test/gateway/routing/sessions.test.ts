/** Conversations that stay where they were served (docs/contract.md#sticky-sessions), seen from outside. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { CLIENTS, type Client, type Providers, questionFor, startProviders } from '../../support/providers.ts'
import { says, upstreamError } from '../../support/wire.ts'

const NAMES = ['aye', 'bee', 'sea']
const MINUTE = 60_000
const CACHED = 'price: { prompt: "1.00", completion: "1.00", cached: "0.10" }'

const times = async (count: number, ask: () => Promise<string>): Promise<string[]> => {
  const seen: string[] = []
  for (let i = 0; i < count; i++) seen.push(await ask())
  return seen
}

/** All providers say their names and report so many tokens read from their cache. */
function report(scene: Providers, cached: number): void {
  for (const name of NAMES) scene.script(says({ text: [name], usage: { input: 11, output: 7, cached } }), name)
}

/** Checks that all calls stay where they should, or that they do not stay. */
async function stays(t: Test, ask: () => Promise<string>, home: string | undefined, name: string): Promise<void> {
  const seen = new Set(await times(home === undefined ? 12 : 6, ask))
  if (home === undefined) t.ok(seen.size > 1, `${name}: goes about (${[...seen]})`)
  else t.same(seen, new Set([home]), `${name}: stays`)
}

t.test('a session stays from its first success on, in every dialect', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      await stays(t, () => scene.server(client), undefined, `${client} without a session`)
      for (const where of ['body', 'header']) {
        const homes = new Set<string>()
        for (const name of ['s1', 's2', 's3', 's4', 's5', 's6']) {
          const session = `${client}-${where}-${name}`
          const ask = () =>
            where === 'body' ? scene.server(client, { session_id: session }) : scene.server(client, {}, { 'x-session-id': session })
          const home = await ask()
          homes.add(home)
          await stays(t, ask, home, session)
        }
        t.ok(homes.size > 1, `${client}, ${where}: sessions spread`)
      }
    }
  })
})

t.test('a session stays for streams too, and while the words of the conversation change', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const ask = async (content: string): Promise<string> => {
    const response = await scene.ask('chat', { ...questionFor('chat', content), session_id: 'stream', stream: true })
    return /"provider":"(\w+)"/.exec(await response.text())?.[1] ?? 'none'
  }
  const home = await ask('one')
  t.same(new Set(await times(8, () => ask(`other ${scene.calls()}`))), new Set([home]))
})

t.test('the session of the body takes precedence over the header, and that over prompt_cache_key', async (t) => {
  const scene = await startProviders(t, { providers: NAMES, endpoint: () => CACHED })
  const homes = new Map<string, string>()
  for (let i = 0; homes.size < 2 || new Set(homes.values()).size < 2; i++)
    homes.set(`s${i}`, await scene.server('chat', { session_id: `s${i}` }))
  const [one, other] = [...new Set(homes.values())].map((home) => [...homes].find(([, found]) => found === home)?.[0] ?? '')
  const home = (session: string) => homes.get(session) ?? ''
  await stays(t, () => scene.server('chat', { session_id: one }, { 'x-session-id': other }), home(one), 'body')
  report(scene, 5)
  const keyed = await scene.server('chat', { prompt_cache_key: 'key' })
  await stays(t, () => scene.server('chat', { prompt_cache_key: 'key' }), keyed, 'key')
  const [unlike] = [one, other].filter((session) => home(session) !== keyed)
  await stays(t, () => scene.server('chat', { prompt_cache_key: 'key' }, { 'x-session-id': unlike }), home(unlike), 'header')
})

t.test('refuses a session of more than 256 characters, wherever it stands', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const [longest, longer] = ['x'.repeat(256), 'x'.repeat(257)]
      t.equal((await scene.ask(client, { session_id: longest })).status, 200)
      t.equal((await scene.ask(client, {}, { 'x-session-id': longest })).status, 200)
      const before = scene.calls()
      for (const response of [await scene.ask(client, { session_id: longer }), await scene.ask(client, {}, { 'x-session-id': longer })]) {
        t.equal(response.status, 400)
        t.match(await response.text(), /session.id/)
      }
      t.same(scene.calls(), before, 'nobody is called')
    }
  })
})

const OTHER_KEY = 'sk-router-v1-aaaaaaaaaaaaaaaa'
const KEYS = `auth:
  keys:
    - { name: one, key: "sk-router-v1-bbbbbbbbbbbbbbbb" }
    - { name: other, key: "${OTHER_KEY}" }
`

t.test('a session belongs to a key and a model', async (t) => {
  const second = NAMES.map((name) => `{ provider: ${name}, model: m2, price: free }`)
  const models = `  acme/two: { context: 128000, endpoints: [ ${second.join(', ')} ] }\n`
  const scene = await startProviders(t, { providers: NAMES, top: KEYS, models })
  const differs = { key: 0, model: 0 }
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 12; i++) {
      const session = { session_id: `s${i}` }
      const home = await scene.server('chat', session)
      if ((await scene.server('chat', session, { authorization: `Bearer ${OTHER_KEY}` })) !== home) differs.key++
      if ((await scene.server('chat', { ...session, model: 'acme/two' })) !== home) differs.model++
      t.equal(await scene.server('chat', session), home, 'and stays where it was for its own')
    }
  })
  t.ok(differs.key > 2 && differs.model > 2, JSON.stringify(differs))
})

t.test('ten minutes idle, and each success renews them', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const ask = () => scene.server('chat', { session_id: 'idle' })
  const home = await ask()
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 12; i++) {
      await scene.clock.advance(9.9 * MINUTE)
      t.equal(await ask(), home, 'renewed')
    }
  })
  const later = new Set<string>()
  for (let i = 0; i < 12; i++) {
    await scene.clock.advance(10 * MINUTE + 1)
    later.add(await ask())
  }
  t.ok(later.size > 1, 'forgotten')
})

t.test('a provider error leaves the session where it is, and the request falls through', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const ask = () => scene.server('responses', { session_id: 'falls' })
  const home = await ask()
  await every(t, 'every answer', async (t) => {
    for (const answer of [upstreamError(500), upstreamError(429), { before: 'reset' as const }]) {
      scene.script(() => answer, home)
      t.not(await ask(), home, 'another one answers')
      scene.heal()
      t.equal(await ask(), home, 'the next request is back')
    }
  })
  scene.script(() => upstreamError(500), home)
  await times(8, ask)
  const calls = scene.upstreams[home].requests.length
  await times(8, ask)
  t.ok(scene.upstreams[home].requests.length - calls <= 1, 'where it keeps failing it is left alone')
})

t.test('order switches sticky sessions off, both ways', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const session = { session_id: 'ordered' }
  const home = await scene.server('chat', session)
  await every(t, 'every name', async (t) => {
    for (const name of NAMES) t.equal(await scene.server('chat', { ...session, provider: { order: [name] } }), name, 'order decides')
  })
  await stays(t, () => scene.server('chat', session), home, 'what order did is not remembered')
  const fresh = { session_id: 'never seen' }
  for (let i = 0; i < 3; i++) await scene.server('chat', { ...fresh, provider: { order: ['aye'] } })
  const first = new Set<string>()
  for (let i = 0; i < 12; i++) {
    first.add(await scene.server('chat', fresh))
    await scene.clock.advance(11 * MINUTE)
  }
  t.ok(first.size > 1, `nothing was pinned under order (${[...first]})`)
})

t.test('only and ignore still rule a session; what serves then is remembered', async (t) => {
  const scene = await startProviders(t, { providers: NAMES })
  const session = { session_id: 'narrowed' }
  const home = await scene.server('chat', session)
  const rest = NAMES.filter((name) => name !== home)
  t.ok(rest.includes(await scene.server('chat', { ...session, provider: { ignore: [home] } })))
  const moved = await scene.server('chat', { ...session, provider: { only: [rest[0]] } })
  t.equal(moved, rest[0])
  await stays(t, () => scene.server('chat', session), rest[0], 'a cache is warm where the conversation was last')
})

/** The opening words of a conversation, and the same ones with more of it behind them. */
function conversation(client: Client, words: string, turns: number): JsonObject {
  const system = `You are terse. ${words}`
  const utterance: JsonObject[] = [{ role: 'user', content: `Hello, ${words}` }]
  for (let i = 0; i < turns; i++) utterance.push({ role: 'assistant', content: `answer ${i}` }, { role: 'user', content: `question ${i}` })
  const body = questionFor(client)
  if (client === 'responses') return { ...body, instructions: system, input: utterance }
  return client === 'messages'
    ? { ...body, system, messages: utterance }
    : { ...body, messages: [{ role: 'system', content: system }, ...utterance] }
}

for (const kind of ['prompt_cache_key', 'conversation'] as const)
  t.test(`by ${kind}: only after a cache hit, and only where that is cheaper`, async (t) => {
    await every(t, 'every client', async (t) => {
      for (const client of CLIENTS) {
        const words = `${kind} ${client}`
        const ask = (scene: Providers, turns = 0) =>
          scene.server(
            client,
            kind === 'conversation' ? conversation(client, words, turns) : { prompt_cache_key: words, ...questionFor(client, `${turns}`) },
          )
        const scene = await startProviders(t, { providers: NAMES, endpoint: () => CACHED })
        report(scene, 0)
        await stays(t, () => ask(scene), undefined, `${client}: without a hit`)
        report(scene, 4)
        const home = await ask(scene)
        report(scene, 0)
        let turns = 0
        await stays(t, () => ask(scene, turns++), home, `${client}: after one, whatever is said later`)
        await scene.clock.advance(9.9 * MINUTE)
        t.equal(await ask(scene), home, 'a success without a hit renews')
        await scene.clock.advance(9.9 * MINUTE)
        t.equal(await ask(scene), home)
        await scene.clock.advance(10 * MINUTE + 1)
        await stays(t, () => ask(scene), undefined, `${client}: ten minutes later`)
        report(scene, 4)
        const again = await ask(scene)
        scene.script(() => upstreamError(500), again)
        t.not(await ask(scene), again, 'an error falls through')
        report(scene, 4)
        t.equal(await ask(scene), again, 'and leaves it')
        const dear = await startProviders(t, {
          providers: NAMES,
          endpoint: () => 'price: { prompt: "1.00", completion: "1.00", cached: "1.00" }',
        })
        report(dear, 4)
        await stays(t, () => ask(dear), undefined, `${client}: the cache is not cheaper`)
        const unstated = await startProviders(t, { providers: NAMES })
        report(unstated, 4)
        await stays(t, () => ask(unstated), undefined, `${client}: the cache has no price`)
      }
    })
  })

t.test('other opening words are another conversation', async (t) => {
  const scene = await startProviders(t, { providers: NAMES, endpoint: () => CACHED })
  report(scene, 4)
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const homes = new Map<string, string>()
      for (let i = 0; i < 9; i++) homes.set(`${client} ${i}`, await scene.server(client, conversation(client, `${client} ${i}`, 0)))
      t.ok(new Set(homes.values()).size > 1, 'they spread')
      for (const [words, home] of homes) t.equal(await scene.server(client, conversation(client, words, 3)), home, words)
    }
  })
})
