/** A parameter that is a plain value: chat and Responses callers send it, and so it goes to providers of three formats. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'parameter',
  change: 'a parameter understood across wires',
  recipe:
    'its row in `src/core/parameters.ts`; for each wire that has it a row in `parameters.ts` of its folder, a name in `sameFields()` where the field has the canonical name; its test. Checks, decoding, encoding, losses, `supported_parameters`, presets, plans and documents are made of the rows; a wire without a row leaves it out and records it',
  most: 6,
  edits: [
    {
      file: 'src/core/parameters.ts',
      find: "  stop: { kind: 'texts'",
      replace: "  typical_p: { kind: 'number', range: [0, 1], listed: 'stated', isPreset: true, sample: 1 },\n  stop: { kind: 'texts'",
    },
    { file: 'src/dialects/chat/parameters.ts', find: "'repetition_penalty', 'seed'", replace: "'repetition_penalty', 'seed', 'typical_p'" },
    { file: 'src/dialects/responses/parameters.ts', find: "'temperature', 'top_p',", replace: "'temperature', 'top_p', 'typical_p'," },
    {
      file: 'src/dialects/gemini/parameters.ts',
      find: "  stop: { as: 'generationConfig.stopSequences' },",
      replace: "  typical_p: sentAs('generationConfig.typicalP'),\n  stop: { as: 'generationConfig.stopSequences' },",
    },
    {
      file: 'test/gateway/formats/typical-p.test.ts',
      text: `/** \`typical_p\`, sent by callers of two formats to providers of four. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Scene, startScene } from '../../support/scene.ts'

const SENT: readonly [dialect: string, place: (body: JsonObject) => unknown][] = [
  ['openai-chat', ({ typical_p }) => typical_p],
  ['openai-responses', ({ typical_p }) => typical_p],
  ['gemini', ({ generationConfig }) => (generationConfig as JsonObject).typicalP],
]

/** In the attempts of a row. */
const LOST = /dropped.{1,12}typical_p/

const dropped = ({ rows }: Scene): string => JSON.stringify(rows().at(-1)?.settled)

for (const [dialect, place] of SENT)
  t.test(\`\${dialect} is sent it\`, async (t) => {
    const scene = await startScene(t, { dialect })
    for (const [index, client] of (['chat', 'responses'] as const).entries()) {
      t.equal((await scene.ask({ typical_p: 0.75 }, client)).status, 200, client)
      t.equal(place((await scene.upstream.request(index)).json), 0.75, client)
      t.notMatch(dropped(scene), LOST, client)
      t.equal((await scene.ask({ typical_p: 1.5 }, client)).status, 400, 'above its range')
    }
  })

t.test('a format without a row leaves it out and says so, and an endpoint without it in its list is not sent it', async (t) => {
  const scene = await startScene(t, { dialect: 'anthropic' })
  t.equal((await scene.ask({ typical_p: 0.75 })).status, 200)
  t.notMatch(await scene.upstream.request(0), { json: { typical_p: 0.75 } })
  t.match(dropped(scene), LOST)
  const listed = await startScene(t, { endpoint: 'supported_parameters: [ temperature ]' })
  t.equal((await listed.ask({ typical_p: 0.75, temperature: 0.5 })).status, 200)
  t.match((await listed.upstream.request(0)).json, { temperature: 0.5, typical_p: undefined })
})
`,
    },
  ],
  test: [
    'test/gateway/formats/typical-p',
    'test/dialects/parameters',
    'test/dialects/gemini/request',
    'test/dialects/messages/upstream-request',
    'test/config/documents',
  ],
}
