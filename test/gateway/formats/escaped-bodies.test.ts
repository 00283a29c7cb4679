/** Escapes in a request's JSON hide nothing: media in any spelling is filtered, held for and priced. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { CLIENTS, type Client, PATHS, startProviders } from '../../support/providers.ts'
import { says } from '../../support/wire.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='
const IMAGES: Readonly<Record<Client, JsonObject>> = {
  chat: { type: 'image_url', image_url: { url: PNG } },
  responses: { type: 'input_image', image_url: PNG, detail: 'auto' },
  messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
}
const SOUND: JsonObject = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }

function bodyWith(client: Client, model: string, part: JsonObject): string {
  if (client === 'responses') return JSON.stringify({ model, input: [{ role: 'user', content: [part] }] })
  return JSON.stringify({ model, messages: [{ role: 'user', content: [part] }], max_tokens: 10 })
}

const escaped = (text: string, upper = false): string =>
  [...text]
    .map((char) => {
      const code = char.charCodeAt(0).toString(16).padStart(4, '0')
      return `\\u${upper ? code.toUpperCase() : code}`
    })
    .join('')

/** The body with its words written in other ways that mean the same. */
function spellings(body: string): [name: string, body: string][] {
  const words = [...new Set(body.match(/(?<=")(?:type|image\w*|input_\w+|file\w*|document|source)(?=")/g))]
  const all = (change: (word: string) => string): string =>
    words.reduce((text, word) => text.replaceAll(`"${word}"`, `"${change(word)}"`), body)
  return [
    ['plain', body],
    ['one letter of type', body.replaceAll('"type"', '"\\u0074ype"')],
    ['the last letter of every word', all((word) => word.slice(0, -1) + escaped(word.slice(-1)))],
    ['the first letter of every word', all((word) => escaped(word.slice(0, 1)) + word.slice(1))],
    ['every letter', all((word) => escaped(word))],
    ['every letter, capital digits', all((word) => escaped(word, true))],
    ['every second letter', all((word) => [...word].map((char, i) => (i % 2 === 0 ? char : escaped(char))).join(''))],
    ['underscores', all((word) => word.replaceAll('_', escaped('_')))],
    ['blanks around the colons', body.replaceAll('":', '" :\n ')],
  ]
}

t.test('media reaches no endpoint that takes text alone', async (t) => {
  const deaf = `  acme/deaf: { context: 128000, input: [text], endpoints: [ { provider: aye, model: m, price: free } ] }\n`
  const scene = await startProviders(t, { providers: ['aye'], models: deaf })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const part of client === 'chat' ? [IMAGES.chat, SOUND] : [IMAGES[client]])
        for (const [name, body] of spellings(bodyWith(client, 'acme/deaf', part))) {
          const response = await scene.gateway.post(PATHS[client], body)
          t.equal(response.status, 404, `${client}, ${part.type}: ${name}`)
          await response.text()
        }
  })
  t.same(scene.calls(), [0], 'nothing was called')
})

t.test('media in any spelling is held for and priced', async (t) => {
  const see = (slug: string) =>
    `  acme/${slug}: { context: 128000, input: [text, image], endpoints: [ { provider: aye, model: m, price: { prompt: "1.00", completion: "1.00", image: "0.01" } } ] }\n`
  const top = `auth: { keys: [ { name: rich, key: "sk-router-v1-0123456789abcdef" }, { name: poor, key: "sk-router-v1-fedcba9876543210", limit: "0.005" } ] }\n`
  const scene = await startProviders(t, { providers: ['aye'], models: see('eye'), top })
  scene.script(says({ text: ['seen'], usage: { input: 100, output: 5 } }))
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const [name, body] of spellings(bodyWith(client, 'acme/eye', IMAGES[client]))) {
        const poor = await scene.gateway.post(PATHS[client], body, { authorization: 'Bearer sk-router-v1-fedcba9876543210' })
        t.equal(poor.status, 402, `${client}: ${name}: the hold counts the image`)
        await poor.text()
        const rich = await scene.gateway.post(PATHS[client], body)
        t.equal(rich.status, 200, `${client}: ${name}`)
        await rich.text()
        const id = rich.headers.get('x-generation-id')
        const { data } = (await (await scene.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: { total_cost: number } }
        t.equal(data.total_cost, 0.010105, `${client}: ${name}: and so does the price`)
      }
  })
})

t.test('escapes of other characters keep a body of text what it is', async (t) => {
  const scene = await startProviders(t, { providers: ['aye'] })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const word of ['\\u00e9', '\\u4e2d\\u6587', '\\u0000', '\\u003cb\\u003e', '\\\\u0074ype', '\\ud83d\\ude00', '\\u0041'])
        for (const part of [`"${word}"`]) {
          const messages = `[{"role":"user","content":${part}}]`
          const body =
            client === 'responses'
              ? `{"model":"acme/one","input":${messages}}`
              : `{"model":"acme/one","max_tokens":9,"messages":${messages}}`
          const response = await scene.gateway.post(PATHS[client], body)
          t.equal(response.status, 200, `${client}: ${word}`)
          await response.text()
          const sent = JSON.stringify(scene.upstreams.aye.requests.at(-1)?.json)
          t.ok(sent.includes(JSON.stringify(JSON.parse(part))), `${client}: ${word} arrives`)
        }
  })
})

t.test('a body that is no UTF-8 is refused: decoding it would make more of it than was held for', async (t) => {
  const scene = await startProviders(t, { providers: ['aye'] })
  for (const client of CLIENTS) {
    const [before, after] = bodyWith(client, 'acme/one', { type: 'text', text: '#' }).split('#')
    const body = Buffer.concat([Buffer.from(before), Buffer.alloc(1000, 0xff), Buffer.from(after)])
    const response = await fetch(`${scene.gateway.url}${PATHS[client]}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scene.gateway.key}`, 'content-type': 'application/json' },
      body,
    })
    t.equal(response.status, 400, client)
    t.match(await response.text(), /UTF-8/)
  }
  t.same(scene.calls(), [0])
})
