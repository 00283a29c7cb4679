/**
 * Random requests of two keys at once, with input that is not in their bodies, ids of their own and of the other key, and providers that
 * report as much as the bounds allow, or far more: no key is ever charged beyond its limit, what providers bill within the bounds stays
 * within it, too, and what they bill beyond is in the ledger to the nano-dollar.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { parseFacts } from '../../../src/ledger/facts.ts'
import { buildPdf } from '../../support/documents.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { property } from '../../support/seed.ts'
import { jsonAnswer, type Script } from '../../support/upstream.ts'

const KEYS = ['sk-router-v1-0123456789abcdef0123456789abcdef', 'sk-router-v1-fedcba9876543210fedcba9876543210'] as const
const NAMES = ['a', 'b'] as const
const CONTEXT = 80_000
/** Nano-dollars per token of input and of output. */
const INPUT = 1_000
const OUTPUT = 2_000
const CAP = 50
const PAGES = 3

const config =
  (limits: readonly number[]) =>
  (url: string): string =>
    `
auth:
  keys:
${NAMES.map((name, i) => `    - { name: ${name}, key: "${KEYS[i]}", limit: "${((limits[i] ?? 0) / 1000).toFixed(3)}" }`).join('\n')}
providers: { up: { dialect: anthropic, base_url: "${url}", key: k, quirks: { threads: true } } }
models:
  acme/one:
    context: ${CONTEXT}
    max_output: ${CAP}
    input: [ text, image, file ]
    endpoints: [ { provider: up, model: up, price: { prompt: "1.00", completion: "2.00" } } ]
`

const pdf = buildPdf(Array.from({ length: PAGES }, () => 'x')).toString('base64')

/** Inputs of a request beside its text. */
const KINDS = {
  plain: {},
  hostile: { metadata: { user_id: 'hostile' } },
  servers: { mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] },
  fetches: { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2, max_content_tokens: 3_000 }] },
  code: { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
  begins: { thread: { type: 'create' } },
  pages: {
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }] }],
  },
} as const satisfies Record<string, JsonObject>
/** These name what the provider gave to one of the keys. */
const NAMED = ['continues', 'container'] as const

const move = fc.record({
  key: fc.nat(1),
  /** The key whose id is named. */
  owner: fc.nat(1),
  kind: fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[]), ...NAMED),
  /** Of the bound that the provider reports. */
  share: fc.constantFrom(0, 0.3, 1),
})
const waves = fc.array(fc.array(move, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 })

class Run {
  readonly billed = [0, 0]
  private readonly hostile = [false, false]
  private readonly threads: string[] = ['', '']
  private readonly containers: string[] = ['', '']
  private readonly seen = new Map<string, number>()
  private readonly shares = new Map<string, { share: number; key: number }>()
  private count = 0
  scene: Scene | undefined

  /** Reports a share of what the request may cost. */
  readonly answer: Script = ({ json, headers }) => {
    const { share = 0, key = 0 } = this.shares.get(firstText(json)) ?? {}
    const usage = { input_tokens: Math.floor(50 + share * this.maxCost(json)), output_tokens: Math.floor(share * CAP) }
    const id = `msg_${String(headers['x-client-request-id'])}`
    this.seen.set(id, usage.input_tokens + usage.output_tokens)
    this.billed[key] = (this.billed[key] ?? 0) + usage.input_tokens * INPUT + usage.output_tokens * OUTPUT
    const container = json.tools === undefined ? null : { id: `container_of_${NAMES[key]}`, expires_at: '2027-01-01T00:00:00Z' }
    const content = [{ type: 'text', text: 'x' }]
    return jsonAnswer({ id, type: 'message', role: 'assistant', model: 'up', content, stop_reason: 'end_turn', container, usage })
  }

  private maxCost({ metadata, mcp_servers, container, thread, tools, messages }: JsonObject): number {
    if (metadata !== undefined) return 20_000_000
    if (mcp_servers !== undefined || (container ?? null) !== null) return CONTEXT - 50
    const [tool] = (tools ?? []) as JsonObject[]
    if (tool) return String(tool.type).startsWith('web_fetch') ? Number(tool.max_uses) * Number(tool.max_content_tokens) : CONTEXT - 50
    const { previous_message_id: previous } = (thread ?? {}) as JsonObject
    if (previous !== undefined) return this.seen.get(String(previous)) ?? 0
    return JSON.stringify(messages).includes('application/pdf') ? PAGES * 5_000 : 100
  }

  async wave(moves: readonly { key: number; owner: number; kind: string; share: number }[]): Promise<void> {
    await Promise.all(moves.map((each) => this.move(each)))
    await this.check()
  }

  private async move({ key, owner, kind, share }: { key: number; owner: number; kind: string; share: number }): Promise<void> {
    const { scene } = this
    assert.ok(scene)
    const mark = `request ${this.count++}`
    this.shares.set(mark, { share, key })
    const more = this.kindBody(kind, owner)
    if (!more) return
    if (kind === 'hostile') this.hostile[key] = true
    const given = (more.messages ?? [{ role: 'user', content: [] }]) as JsonObject[]
    const messages = given.map((message) => ({ ...message, content: [...(message.content as JsonObject[]), { type: 'text', text: mark }] }))
    const body = { model: 'acme/one', max_tokens: CAP, ...more, messages }
    const before = scene.upstream.requests.length
    const reply = await scene.gateway.post('/v1/messages', body, { authorization: `Bearer ${KEYS[key]}` })
    const text = await reply.text()
    const named = (NAMED as readonly string[]).includes(kind)
    if (named && owner !== key) {
      assert.equal(reply.status, 404, text)
      assert.ok(!scene.upstream.requests.slice(before).some(({ json }) => firstText(json) === mark), 'an id of another key went out')
      return
    }
    assert.ok([200, 402].includes(reply.status), text)
    if (reply.status !== 200) return
    const { container } = JSON.parse(text) as { container: JsonObject | null }
    if (container) this.containers[key] = String(container.id)
    if (more.thread) this.threads[key] = reply.headers.get('x-generation-id') ?? ''
  }

  /** Undefined where the key has been given nothing yet. */
  private kindBody(kind: string, owner: number): JsonObject | undefined {
    if (kind === 'continues')
      return this.threads[owner] ? { thread: { type: 'continue', previous_message_id: this.threads[owner] } } : undefined
    if (kind === 'container') return this.containers[owner] ? { container: this.containers[owner] } : undefined
    return KINDS[kind as keyof typeof KINDS]
  }

  private async check(): Promise<void> {
    const { scene } = this
    assert.ok(scene)
    for (const [i, key] of KEYS.entries()) {
      const reply = await scene.gateway.get('/v1/key', { authorization: `Bearer ${key}` })
      const { data } = (await reply.json()) as { data: { limit: number; usage: number; limit_remaining: number } }
      const limit = Math.round(data.limit * 1e9)
      const charged = Math.round(data.usage * 1e9)
      const billed = this.billed[i] ?? 0
      assert.ok(charged <= limit, `charged ${charged} of ${limit}`)
      assert.equal(Math.round(data.limit_remaining * 1e9), limit - charged, 'nothing is held any more')
      if (!this.hostile[i]) assert.ok(billed <= limit, `the provider bills ${billed} of ${limit}`)
      let known = 0
      for (const { hold, settled } of scene.rows()) {
        if (hold.key !== NAMES[i] || !settled) continue
        const facts = parseFacts(settled)
        known += settled.cost + Number(facts.unrecovered_nano ?? 0) + Number(facts.disputed_nano ?? 0)
      }
      assert.equal(known, billed, 'what the provider bills is in the ledger')
    }
  }
}

const firstText = ({ messages }: JsonObject): string => {
  const [message] = (messages ?? []) as JsonObject[]
  const content = message?.content
  const last = Array.isArray(content) ? content.at(-1) : undefined
  return String((last as JsonObject | undefined)?.text)
}

t.setTimeout(900_000)
t.test('random requests with input that is not in their bodies', async (t) => {
  let served = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 400 })), waves, async (limits, all) => {
      const run = new Run()
      const ends: (() => unknown)[] = []
      const scope = { teardown: (end: () => unknown) => void ends.unshift(end) } as unknown as typeof t
      run.scene = await startScene(scope, { answer: run.answer, config: config(limits) })
      try {
        for (const moves of all) {
          await run.wave(moves)
          refused += moves.length
        }
        served += run.scene.upstream.requests.length
        refused -= run.scene.upstream.requests.length
      } finally {
        for (const end of ends) await end()
      }
    }),
    property(25, 600),
  )
  t.ok(served > 50, `${served} were served`)
  t.ok(refused > 50, `${refused} were refused`)
})
