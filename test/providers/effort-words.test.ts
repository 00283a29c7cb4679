/** Each effort that callers may request reaches each provider as a word that it takes: the stand-ins refuse any other, by the providers' types. */
import t from 'tap'
import { every } from '../support/every.ts'
import { object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { PATHS, questionFor } from '../support/providers.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { startMatrix } from './matrix.ts'
import { RULES } from './rules/index.ts'

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

for (const rules of RULES.filter(({ wire, models }) => wire === 'openai-chat' && models.some(({ reasons }) => reasons))) {
  t.test(rules.preset, async (t) => {
    const matrix = await startMatrix(t, [rules])
    const [standIn] = matrix.standIns
    standIn.utterance = { text: ['Yes.'] }
    for (const model of rules.models.filter(({ reasons }) => reasons))
      await every(t, model.slug, async (t) => {
        for (const effort of EFFORTS) {
          for (const [client, more] of [
            ['chat', { reasoning_effort: effort }],
            ['responses', { reasoning: { effort } }],
          ] as const) {
            const response = await matrix.gateway.post(PATHS[client], { ...questionFor(client), ...more, model: model.slug, ...model.more })
            const text = await response.text()
            const sent = object(standIn.accepted.at(-1)).reasoning_effort
            t.equal(response.status, 200, `${client}, ${effort} as ${String(sent)}: ${text.slice(0, 200)}`)
          }
        }
      })
  })
}

/** Words of the provider's own types, for models that the catalogue does not know: npm groq-sdk 1.6.0, `ChatCompletionCreateParamsBase.reasoning_effort`. */
const ENUMS: Readonly<Record<string, readonly string[]>> = { groq: ['none', 'default', 'low', 'medium', 'high'] }

for (const [preset, words] of Object.entries(ENUMS))
  t.test(`any model at ${preset}`, async (t) => {
    const upstream = await startUpstream(says({ text: ['Yes.'] }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(`
providers: { one: { preset: ${preset}, base_url: "${upstream.url}", key: sk-provider-1 } }
models: { acme/one: { context: 100000, endpoints: [ { provider: one, model: m, price: { prompt: "1", completion: "2" } } ] } }
`)
    t.teardown(() => gateway.close())
    for (const effort of EFFORTS) {
      await (await gateway.post(PATHS.chat, { ...questionFor('chat'), reasoning_effort: effort })).text()
      const sent = String(upstream.requests.at(-1)?.json.reasoning_effort)
      t.ok(words.includes(sent), `${effort} as ${sent}`)
    }
  })
