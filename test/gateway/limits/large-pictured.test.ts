/**
 * A large body with a picture, whose parsed form is released once it is sent: the reply is charged as reported, one that breaks off or that
 * its caller leaves by what was noted before, and nothing reads it again.
 */
import t, { type Test } from 'tap'
import { estimateFromBytes } from '../../../src/ledger/settlement.ts'
import { eventually } from '../../support/eventually.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const USAGE = { input: 70_000, output: 12 }
const URL = 'data:image/png;base64,iVBORw0KGgo='
const TEXT = 'a long text, '.repeat(10_000)
const BODIES = {
  '/v1/chat/completions': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image_url', image_url: { url: URL } },
        ],
      },
    ],
  },
  '/v1/messages': {
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        ],
      },
    ],
  },
}

/** @param after what follows the first words of the answer; the whole answer where absent. */
function scene(t: Test, dialect: string, after?: Partial<ReturnType<typeof sseAnswer>> & { step?: Gate['step'] }) {
  const { step, ...more } = after ?? {}
  return startScene(t, {
    answer: (seen) => {
      const frames = framesFor(seen.path, { text: ['fine ', 'words'], usage: USAGE })
      const body = after === undefined ? frames : frames.slice(0, frames.findIndex((frame) => frame.includes('fine ')) + 1)
      return sseAnswer(step === undefined ? body : [...body, step], more)
    },
    config: (url) => `
server: { host: 127.0.0.1, port: 0 }
providers: { up: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-up } }
models: { acme/one: { input: [ text, image ], endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ] } }
`,
  })
}

/** The image counts by the piece, not by its bytes. */
const LEAST = estimateFromBytes(TEXT.length)

for (const dialect of ['openai-chat', 'openai-responses', 'gemini', 'anthropic'])
  for (const [path, body] of Object.entries(BODIES)) {
    const question = { model: 'acme/one', stream: true, ...body }

    t.test(`${path} at ${dialect}`, async (t) => {
      const { gateway, rows } = await scene(t, dialect)
      const reply = await gateway.post(path, question)
      const text = await reply.text()
      t.equal(reply.status, 200)
      t.match(text, 'fine')
      t.notMatch(text, '"error"')
      t.match(rows()[0]?.settled, { status: 'completed', input: USAGE.input, output: USAGE.output })
    })

    t.test(`${path} at ${dialect}, and the provider breaks off`, async (t) => {
      const { gateway, rows } = await scene(t, dialect, { after: 'reset' })
      const text = await (await gateway.post(path, question)).text().catch(String)
      t.notMatch(text, 'internal')
      const settled = await eventually('the settlement', () => rows()[0]?.settled)
      t.equal(settled?.status, 'failed')
    })

    t.test(`${path} at ${dialect}, and the caller leaves`, async (t) => {
      const gate = new Gate()
      t.teardown(gate.open)
      const { gateway, rows, clock } = await scene(t, dialect, { step: gate.step })
      const caller = new AbortController()
      const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
      const reply = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(question), signal: caller.signal })
      await reply.body?.getReader().read()
      caller.abort()
      await heardLeave(clock)
      await clock.advance(READ_ON)
      const settled = await eventually('the settlement', () => rows()[0]?.settled)
      t.equal(settled?.status, 'aborted')
      t.ok((settled?.input ?? 0) >= (dialect === 'anthropic' ? 1 : LEAST), `${settled?.input} tokens of input`)
      t.ok((settled?.cost ?? 0) > 0, 'it is charged')
    })
  }
