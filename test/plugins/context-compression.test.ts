import fc from 'fast-check'
import t from 'tap'
import { groupItems } from '../../plugins/context-compression/groups.ts'
import { largestContext } from '../../plugins/context-compression/largest-context.ts'
import { middleOut, shortenText } from '../../plugins/context-compression/middle-out.ts'
import { contextCompression } from '../../plugins/context-compression/plugin.ts'
import { Fault } from '../../src/core/faults.ts'
import { estimatedNeed, itemTokens } from '../../src/dialects/canon/need.ts'
import type { CanonicalRequest, Host, Item, JsonObject, Plugin, Resolved, Role, Sampling, Stage } from '../../src/plugin-api/index.ts'
import type { Endpoint, Model } from '../../src/routing/catalog/types.ts'
import { DiskFiles } from '../../src/services/files/index.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const plugin: Plugin = contextCompression
/** One token per four characters. */
const estimate = (text: string): number => Math.ceil(text.length / 4)
const clock = { now: () => 0, monotonic: () => 0, after: () => ({ cancel: () => {} }), random: () => 0 }
const host: Host = { clock, estimateTokens: estimate, files: new DiskFiles({ path: undefined, maxFile: 0, maxBytes: 0 }, clock) }
const message = (role: Role, text: string): Item => ({ kind: 'message', role, parts: [{ kind: 'text', text }] })
const words = (tokens: number, letter = 'x'): string => letter.repeat(tokens * 4)

interface Setup {
  contexts?: (number | undefined)[]
  plugins?: JsonObject[]
  sampling?: Sampling
  output?: string[]
  defaultMaxOutput?: number
  dialects?: string[]
}

function createExchange(items: Item[], setup: Setup = {}) {
  const request: CanonicalRequest = { items, tools: [], sampling: setup.sampling ?? {}, stream: false, used: new Set() }
  const stages: Stage[] = []
  const edits: string[] = []
  const models = (setup.contexts ?? [1000]).map(
    (context, i): Model => ({
      slug: `a/m${i}`,
      name: '',
      description: '',
      created: 0,
      kind: 'generate',
      context,
      maxOutput: undefined,
      defaultMaxOutput: setup.defaultMaxOutput ?? 4096,
      input: ['text'],
      output: setup.output ?? ['text'],
      scores: {},
      flags: new Set(),
      endpoints: [],
    }),
  )
  const endpoints = models.flatMap((model) =>
    (setup.dialects ?? ['openai-chat']).map((dialect) => ({ model, context: undefined, provider: { dialect } }) as unknown as Endpoint),
  )
  const exchange = {
    gateway: { models: [], plugins: setup.plugins ?? [], echoUpstreamBody: false },
    models,
    endpoints,
    stages,
    request: () => request,
    edit(by: string, change: (draft: CanonicalRequest) => void) {
      edits.push(by)
      change(request)
    },
  } as unknown as Resolved
  return { exchange, request, stages, edits }
}

async function shape(items: Item[], setup: Setup = {}, settings: JsonObject = {}) {
  const made = createExchange(items, setup)
  await plugin.shape?.(made.exchange, plugin.parse({ id: plugin.id, ...settings }, 'plugins[0]'), host)
  return made
}

const itemTexts = (items: readonly Item[]): string[] =>
  items.flatMap((item) => (item.kind === 'message' ? item.parts.map((part) => (part.kind === 'text' ? part.text : '')) : [item.kind]))

t.test('settings', async (t) => {
  t.same(plugin.parse({}, 'plugins[0]'), { engine: 'middle-out', enabled: true })
  t.same(plugin.parse({ id: plugin.id, engine: 'middle-out', enabled: false }, 'plugins[0]'), { engine: 'middle-out', enabled: false })
  await every(t, 'every case', async (t) => {
    for (const [settings, field] of [
      [{ engine: 'summarize' }, 'engine'],
      [{ engine: null }, 'engine'],
      [{ enabled: 'yes' }, 'enabled'],
    ] as [JsonObject, string][]) {
      try {
        plugin.parse(settings, 'plugins[3]')
        t.fail(`${field} was accepted`)
      } catch (problem) {
        t.ok(problem instanceof Fault)
        t.match(problem, { status: 400, metadata: { field: `plugins[3].${field}` } })
      }
    }
  })
})

t.test('implied for a small first model only, and not where the request names the plugin', async (t) => {
  const implied = (setup: Setup): boolean => plugin.implied?.(createExchange([], setup).exchange) ?? false
  t.equal(implied({ contexts: [8192] }), true)
  t.equal(implied({ contexts: [8193] }), false)
  t.equal(implied({ contexts: [undefined] }), false)
  t.equal(implied({ contexts: [8192], plugins: [{ id: plugin.id, enabled: false }] }), false)
  t.equal(implied({ contexts: [8192], plugins: [{ id: 'web' }] }), true)
})

t.test('the middle is dropped, the start and the end stay', async (t) => {
  const conversation = [
    message('system', 'rules'),
    message('user', `first ${words(100)}`),
    ...Array.from({ length: 20 }, (_, i) => message(i % 2 ? 'user' : 'assistant', `${i} ${words(100)}`)),
    message('user', 'last question'),
  ]
  const { request, stages, edits } = await shape(conversation, { sampling: { maxOutput: 200 } })
  const texts = itemTexts(request.items)
  t.equal(texts[0], 'rules')
  t.match(texts[1], /^first/)
  t.equal(texts.at(-1), 'last question')
  t.match(texts.at(-2), /^19 /)
  t.ok(request.items.length < conversation.length)
  t.ok(estimatedNeed(request, estimate).total <= 1000, 'prompt and completion fit the context')
  t.ok(estimatedNeed(request, estimate).total > 800, 'no more is lost than must be')
  t.same(edits, ['context-compression'])
  t.equal(stages.length, 1)
  t.match(stages[0], {
    type: 'context_compression',
    name: 'context-compression',
    data: { engine: 'middle-out', input_type: 'messages', original_count: 23, compressed_count: request.items.length },
  })
  t.same(Object.keys(stages[0].data ?? {}).sort(), ['compressed_count', 'engine', 'input_type', 'original_count'])
})

t.test('leaves a request unchanged that fits, or for which it is switched off', async (t) => {
  const long = [message('user', words(2000)), message('user', words(100, 'y'))]
  const cases: [name: string, setup: Setup, settings: JsonObject][] = [
    ['what fits', { contexts: [3000] }, {}],
    ['one endpoint has room', { contexts: [1000, 3000] }, {}],
    ['one endpoint has no known limit', { contexts: [1000, undefined] }, {}],
    ['switched off', {}, { enabled: false }],
    ['no text comes out', { output: ['image'] }, {}],
    ['a completion cap above the context', { sampling: { maxOutput: 1000 } }, {}],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, setup, settings] of cases) {
      const { request, stages, edits } = await shape(long, setup, settings)
      t.same(request.items, long, name)
      t.same([stages, edits], [[], []], name)
    }
  })
})

t.test('the completion cap is part of the need', async (t) => {
  const items = [message('user', words(300)), message('assistant', words(300)), message('user', words(100))]
  t.equal((await shape(items, { sampling: { maxOutput: 200 } })).stages.length, 0)
  t.equal((await shape(items, { sampling: { maxOutput: 500 } })).stages.length, 1)
})

t.test('the first model with room for half of the need is the target, else the largest', async (t) => {
  const items = [message('user', 'start'), ...Array.from({ length: 30 }, () => message('user', words(50))), message('user', 'end')]
  const cases: [contexts: number[], target: number][] = [
    [[900, 1200], 900],
    [[400, 1000, 1200], 1000],
    [[300, 500, 400], 500],
  ]
  await every(t, 'every case', async (t) => {
    for (const [contexts, target] of cases) {
      const { request, stages } = await shape(items, { contexts, sampling: { maxOutput: 50 } })
      const { total } = estimatedNeed(request, estimate)
      t.ok(total <= target && total > target - 150, `${total} of ${target} tokens for ${contexts}`)
      t.match(stages[0].summary, `${target} tokens`)
    }
  })
})

t.test('a wire that takes so many messages gets half of them from each end', async (t) => {
  const items = [message('system', 'rules'), ...Array.from({ length: 1200 }, (_, i) => message(i % 2 ? 'assistant' : 'user', `n${i}`))]
  const roomy = { contexts: [1_000_000] }
  const { request, stages } = await shape(items, { ...roomy, dialects: ['anthropic'] })
  const texts = itemTexts(request.items)
  t.equal(texts.length, 1001)
  t.same([texts[0], texts[1], texts[500], texts[501], texts.at(-1)], ['rules', 'n0', 'n499', 'n700', 'n1199'])
  t.match(stages, [{ summary: /1000 messages/, data: { original_count: 1201, compressed_count: 1001 } }])
  t.equal((await shape(items, { ...roomy, dialects: ['anthropic', 'openai-chat'] })).stages.length, 0, 'another endpoint takes them all')
  t.equal((await shape(items.slice(0, 1001), { ...roomy, dialects: ['anthropic'] })).stages.length, 0, 'exactly as many as it takes')

  const calls = Array.from({ length: 600 }, (_, i): Item[] => [
    { kind: 'call', callId: `c${i}`, name: 'f', args: '{}' },
    { kind: 'result', callId: `c${i}`, parts: [{ kind: 'text', text: 'r' }] },
  ]).flat()
  const called = (await shape([message('user', 'start'), ...calls, message('user', 'end')], { ...roomy, dialects: ['anthropic'] })).request
    .items
  t.equal(called.length, 1000)
  const ids = (kind: string): string[] => called.flatMap((item) => ('callId' in item && item.kind === kind ? [item.callId] : []))
  t.same(ids('call'), ids('result'), 'no call without its result')

  const both = await shape(items, { contexts: [1000], dialects: ['anthropic'], sampling: { maxOutput: 10 } })
  t.ok(estimatedNeed(both.request, estimate).total <= 1000, 'the context counts as well')
  t.equal(both.stages.length, 1)
})

t.test('a call leaves with its result and its reasoning', async (t) => {
  const items: Item[] = [
    message('user', 'start'),
    { kind: 'reasoning', text: 'think', encrypted: 's' },
    { kind: 'call', callId: 'c1', name: 'f', args: '{}' },
    { kind: 'call', callId: 'c2', name: 'f', args: '{}' },
    { kind: 'result', callId: 'c1', parts: [{ kind: 'text', text: words(900) }] },
    { kind: 'result', callId: 'c2', parts: [{ kind: 'text', text: words(900) }] },
    message('assistant', 'done'),
    message('user', 'end'),
  ]
  t.same(
    groupItems(items).map((group) => group.members),
    [[0], [1, 2, 3, 4, 5], [6], [7]],
  )
  const { request } = await shape(items)
  t.same(itemTexts(request.items), ['start', 'done', 'end'])
})

t.test('one long text is shortened in its middle rather than lost', async (t) => {
  const paste = `HEAD${words(3000)}TAIL`
  await every(t, 'every items', async (t) => {
    for (const items of [
      [message('system', 'rules'), message('user', paste)],
      [message('user', paste), message('user', 'and now?')],
    ]) {
      const { request, stages } = await shape(items, { sampling: { maxOutput: 100 } })
      const text = itemTexts(request.items).find((one) => one.startsWith('HEAD')) ?? ''
      t.match(text, /^HEADx+\n\[… \d+ characters left out …\]\nx+TAIL$/)
      t.equal(request.items.length, 2)
      t.ok(estimatedNeed(request, estimate).total <= 1000)
      t.match(stages, [{ data: { original_count: 2, compressed_count: 2 } }])
    }
  })
  t.equal((await shape([message('system', words(2000)), message('user', 'x')])).stages.length, 0, 'instructions are never shortened')
})

t.test('shortening never splits a character', async (t) => {
  const text = '😀'.repeat(2000)
  await every(t, 'every round', async (t) => {
    for (let budget = 60; budget < 90; budget++) {
      const short = shortenText(text, budget, estimate)
      t.ok(short !== undefined && estimate(short) <= budget)
      t.ok(short?.isWellFormed())
    }
  })
})

t.test('an estimate counts every kind of item', async (t) => {
  const request: CanonicalRequest = {
    items: [
      message('user', words(10)),
      { kind: 'call', callId: 'c', name: words(1), args: words(5) },
      { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: words(7) }] },
      { kind: 'reasoning', text: words(3), summary: [words(2)] },
      { kind: 'message', role: 'user', parts: [{ kind: 'media', media: 'image', url: 'https://example.com/a.png' }] },
      { kind: 'opaque', of: { dialect: 'd', type: 't', data: { a: words(10) } } },
    ],
    tools: [{ kind: 'function', name: 'f' }],
    format: { type: 'json_schema', schema: { type: 'object' } },
    sampling: { maxOutput: 50 },
    stream: false,
    used: new Set(),
  }
  const need = estimatedNeed(request, estimate)
  t.equal(need.total, need.prompt + 50)
  t.ok(need.prompt > 10 + 6 + 7 + 5 + 1000 + 10)
  t.equal(largestContext([]), undefined)
})

t.test('whatever the conversation: it fits, calls keep their results, order and ends stay', async (t) => {
  const role = fc.constantFrom<Role>('user', 'assistant', 'system')
  const size = fc.integer({ min: 0, max: 400 })
  const turn = fc.oneof(
    fc.tuple(role, size).map(([who, tokens]): Item[] => [message(who, words(tokens))]),
    fc.tuple(fc.integer({ min: 1, max: 3 }), size, fc.boolean()).map(([calls, tokens, thinks]): Item[] => {
      const ids = Array.from({ length: calls }, (_, i) => `c${i}`)
      const thought: Item[] = thinks ? [{ kind: 'reasoning', text: words(5) }] : []
      return [
        ...thought,
        ...ids.map((callId): Item => ({ kind: 'call', callId, name: 'f', args: '{}' })),
        ...ids.map((callId): Item => ({ kind: 'result', callId, parts: [{ kind: 'text', text: words(tokens) }] })),
      ]
    }),
  )
  let acted = 0
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 12 }), fc.integer({ min: 200, max: 2000 }), (turns, budget) => {
      // Call ids are made unique, as a client's are.
      const items = turns.flatMap((some, i) =>
        some.map((item) => (item.kind === 'call' || item.kind === 'result' ? { ...item, callId: `${i}-${item.callId}` } : item)),
      )
      const total = (some: readonly Item[]): number => some.reduce((sum, item) => sum + itemTokens(item, estimate), 0)
      const kept = middleOut(items, budget, estimate)
      if (!kept) return total(items) > budget
      if (kept.length < items.length) acted++
      const calls = kept.filter((item) => item.kind === 'call').map((item) => item.callId)
      const results = kept.filter((item) => item.kind === 'result').map((item) => item.callId)
      const places = kept.map((item) => items.indexOf(item)).filter((at) => at >= 0)
      const fixed = items.filter((item) => item.kind === 'message' && item.role === 'system')
      return (
        total(kept) <= budget &&
        calls.toSorted().join() === results.toSorted().join() &&
        places.every((at, i) => i === 0 || places[i - 1] < at) &&
        fixed.every((item) => kept.includes(item)) &&
        (total(items) > budget || kept.length === items.length)
      )
    }),
    property(500, 5_000),
  )
  t.ok(acted > 50, `${acted} conversations lost something`)
})
