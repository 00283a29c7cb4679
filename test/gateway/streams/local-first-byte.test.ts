/**
 * Local servers queue without an end, and send no head until they begin (llama.cpp, vLLM, Ollama; docs/behaviour/model-servers.md): their
 * presets wait ten minutes for the first byte, of streams and whole replies alike, and the default provider of Ollama's port is one of them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { providerPreset } from '../../../src/config/provider-presets.ts'
import { startScene } from '../../support/scene.ts'

const LOCAL = ['llama-cpp', 'lm-studio', 'ollama', 'ollama-messages', 'ollama-responses', 'sglang', 'vllm']
const FIRST_BYTE_MS = 600_000

for (const preset of LOCAL)
  t.test(`${preset} is waited for`, async (t) => {
    for (const stream of [false, true]) {
      const { ask, clock, upstream } = await startScene(t, {
        answer: () => ({ before: 'stall' }),
        config: (url) => `
providers: { one: { preset: ${preset}, discover: false, base_url: "${url}/v1" } }
models: { acme/one: { endpoints: [ { provider: one, model: m, price: free } ] } }
`,
      })
      let ended = false
      // A stream begins with comments while the provider is silent.
      const reply = ask({ stream })
        .then((response) => response.text())
        .finally(() => {
          ended = true
        })
      await upstream.request(0)
      await clock.armed(FIRST_BYTE_MS)
      await clock.advance(FIRST_BYTE_MS - 1)
      t.equal(ended, false, `stream ${stream}: not before`)
      await clock.advance(2)
      t.match(await reply, /524|timed? ?out|silent/i, `stream ${stream}`)
    }
  })

t.test("the default provider at Ollama's port has its preset", (t) => {
  const shipped = readFileSync(join(import.meta.dirname, '../../../config/headgate.yaml'), 'utf8')
  t.match(shipped, /^ {2}local: \{ preset: ollama, .*:11434\/v1/m)
  t.match(String(providerPreset('ollama').provider.base_url), /:11434\/v1/)
  t.end()
})
