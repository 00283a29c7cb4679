/** `router:image_generation` over HTTP: which model draws, what the caller gets, what the model hears. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  type AskedModels,
  type AskedModelsOptions,
  ran,
  rawEvents,
  startAskedModels,
  told,
  WAYS,
  wayName,
} from '../../support/asked-models.ts'
import { every } from '../../support/every.ts'
import { inOrder } from '../../support/responses-rules.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'
import { type Utterance, WIRES } from '../../support/wire.ts'

const PIXELS = Buffer.alloc(3000, 7).toString('base64')
const INLINE = `data:image/png;base64,${PIXELS}`
const ASKS: Utterance = {
  calls: [{ id: 'call_1', name: 'router_image_generation', args: ['{"prompt":"A fox."}'] }],
  usage: { input: 100, output: 10 },
}
const DONE: Utterance = { text: ['Here it is.'], usage: { input: 200, output: 20 } }
const PAINTERS = `
  acme/painter: { output: [ text, image ], endpoints: [ { provider: first, model: painter, price: { prompt: "10.00", completion: "20.00" } } ] }
  acme/sketcher: { output: [ text, image ], endpoints: [ { provider: first, model: sketcher, price: free } ] }
`
const tool = (parameters: JsonObject = {}): JsonObject => ({ tools: [{ type: 'router:image_generation', parameters }] })

/** An answer of the chat wire with an image. */
function drawing(url: string): Answer {
  const reply = WIRES['openai-chat'].reply({ text: [], usage: { input: 50, output: 1000 } }) as { choices: { message: JsonObject }[] }
  reply.choices[0].message.images = [{ type: 'image_url', index: 0, image_url: { url } }]
  return jsonAnswer(reply)
}

function withPainter(t: Test, draw: (seen: Seen) => Answer, more: Partial<AskedModelsOptions> = {}): Promise<AskedModels> {
  return startAskedModels(t, {
    script: (name, seen) => (name === 'one' ? (ran(seen) ? DONE : ASKS) : draw(seen)),
    models: PAINTERS,
    ...more,
  })
}

const drawn = (one: AskedModels): Seen | undefined => one.upstream.requests.findLast(({ json }) => json.model !== 'one')
const imageItem = (body: JsonObject): JsonObject | undefined =>
  (body.output as JsonObject[]).find(({ type }) => type === 'router:image_generation')

t.test('the caller gets the image, in every format, and the model only hears of it', async (t) => {
  await every(t, 'every url', async (t) => {
    for (const url of [INLINE, 'https://images.test/fox.png']) {
      const one = await withPainter(t, () => drawing(url))
      for (const way of WAYS) {
        const name = `${url.slice(0, 12)} ${wayName(way)}`
        const { status, raw, reply, body } = await one.ask(
          way,
          tool({ model: 'acme/painter', aspect_ratio: '16:9', quality: 'high', n: 1 }),
        )
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(reply.text, 'Here it is.', name)
        t.match(drawn(one)?.json, {
          model: 'painter',
          messages: [{ role: 'user', content: 'A fox.' }],
          modalities: ['image', 'text'],
        })
        const [heard] = told(one.seen('one').at(-1))
        t.equal(heard.status, 'ok', name)
        t.notOk(one.seen('one').at(-1)?.body.includes(PIXELS), 'no megabytes go back to the model')
        if (url !== INLINE) t.equal(heard.imageUrl, url)
        t.ok(raw.includes(url === INLINE ? PIXELS : url), name)
        t.match(reply.usage, { input: 350, output: 1030 }, name)
        t.equal(one.last().settled?.cost, 300 * 1000 + 30 * 2000 + 50 * 10_000 + 1000 * 20_000, name)
        t.equal(one.held(), 0)
        if (way.format === 'responses') {
          const expected = url === INLINE ? { imageUrl: INLINE, imageB64: PIXELS } : { imageUrl: url, result: url }
          t.match(imageItem(body), { status: 'completed', prompt: 'A fox.', ...expected }, name)
          if (way.stream) inOrder(t, rawEvents(raw), name)
        } else if (way.format === 'chat') {
          const detail = /\{"type":"reasoning\.server_tool_call".*?"result":"(.*?[^\\])"/.exec(raw)?.[1]
          t.match(JSON.parse(JSON.parse(`"${detail}"`) as string), { status: 'ok', imageUrl: url }, name)
        } else t.match(raw, /"type":"router_image_generation_tool_result"/, name)
      }
    }
  })
})

t.test('settings of the image reach a provider that has words for them', async (t) => {
  const draw = (): Answer => {
    const reply = WIRES.gemini.reply({ text: [], usage: { input: 50, output: 1000 } }) as { candidates: { content: JsonObject }[] }
    reply.candidates[0].content.parts = [{ inlineData: { mimeType: 'image/png', data: PIXELS } }]
    return jsonAnswer(reply)
  }
  const one = await startAskedModels(t, {
    script: (name, seen) => (name === 'one' ? (ran(seen) ? DONE : ASKS) : draw()),
    models: PAINTERS,
    dialect: 'gemini',
  })
  const { status, raw, body } = await one.ask({ format: 'responses', stream: false }, tool({ model: 'acme/painter', aspect_ratio: '16:9' }))
  t.equal(status, 200, raw)
  const asked = one.upstream.requests.find(({ path }) => path.includes('/painter:'))?.json
  t.match(asked?.generationConfig, { responseModalities: ['IMAGE', 'TEXT'], imageConfig: { aspectRatio: '16:9' } })
  t.match(imageItem(body), { status: 'completed', imageB64: PIXELS })
})

t.test('which model draws: the parameter, the operator, the first that can', async (t) => {
  const cases: [parameters: JsonObject, yaml: string, model: string][] = [
    [{}, '', 'painter'],
    [{}, 'plugins: { defaults: { image-generation: { model: acme/sketcher } } }', 'sketcher'],
    [{ model: 'acme/painter' }, 'plugins: { defaults: { image-generation: { model: acme/sketcher } } }', 'painter'],
  ]
  for (const [parameters, yaml, model] of cases) {
    const one = await withPainter(t, () => drawing(INLINE), { yaml })
    t.equal((await one.ask({ format: 'chat', stream: false }, tool(parameters))).status, 200)
    t.equal(drawn(one)?.json.model, model)
  }
  const plugin = await withPainter(t, () => drawing(INLINE))
  const { body } = await plugin.ask(
    { format: 'responses', stream: false },
    { plugins: [{ id: 'image-generation', model: 'acme/sketcher' }] },
  )
  t.match(imageItem(body), { status: 'completed' }, 'the plugin offers the tool')
  t.equal(drawn(plugin)?.json.model, 'sketcher')
})

t.test('returns 400 for wrong settings, and an error to the model where no image comes', async (t) => {
  const one = await withPainter(t, () => drawing(INLINE))
  const cases: [parameters: JsonObject, message: RegExp][] = [
    [{ model: 7 }, /^tools\[0\]\.parameters\.model: expected a model slug/],
    [{ model: 'acme/two' }, /parameters\.model: acme\/two makes no images/],
    [{ size: { width: 1 } }, /parameters\.size: expected a text, a number or a list/],
  ]
  for (const [parameters, message] of cases) {
    const { status, body } = await one.ask({ format: 'messages', stream: false }, tool(parameters))
    t.equal(status, 400)
    t.match((body.error as JsonObject).message, message)
  }
  const none = await withPainter(t, () => drawing(INLINE), { models: '' })
  const { status, body } = await none.ask({ format: 'chat', stream: false }, tool())
  t.equal(status, 400)
  t.match((body.error as JsonObject).message, /parameters\.model: is required: no model that makes images/)

  const failures: Record<string, Answer> = {
    'words alone': jsonAnswer(WIRES['openai-chat'].reply({ text: ['No.'], usage: { input: 5, output: 5 } })),
    'an error': jsonAnswer({ error: { message: 'secret words' } }, 500),
  }
  await every(t, 'every case', async (t) => {
    for (const [name, answer] of Object.entries(failures)) {
      const failing = await withPainter(t, () => answer)
      for (const stream of [false, true]) {
        const asked = await failing.ask({ format: 'responses', stream }, tool())
        t.equal(asked.reply.text, 'Here it is.', name)
        t.match(imageItem(asked.body), { status: 'incomplete', prompt: 'A fox.', result: null }, name)
        t.match(told(failing.seen('one').at(-1)), [{ status: 'error', error: String }], name)
        t.notMatch(asked.raw, /secret words/)
      }
    }
  })
})
