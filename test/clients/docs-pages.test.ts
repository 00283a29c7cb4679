/** The examples of `/docs` for the SDK of the Messages format; those of the OpenAI SDK run in `test/gateway/operations/docs-pages.test.ts`. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { plainNode } from '../support/program.ts'

const gateway = await startGateway('providers: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [{ provider: sim, model: echo }] } }\n')
t.teardown(() => gateway.close())

const page = await (await fetch(`${gateway.url}/docs/generation`)).text()
const TEXT: Readonly<Record<string, string>> = { '&#39;': "'", '&quot;': '"', '&gt;': '>', '&lt;': '<', '&amp;': '&' }
const examples = [...page.matchAll(/<pre data-language="typescript"[^>]*>(.*?)<\/pre>/gs)]
  .map(([, html]) => html.replace(/<[^>]*>/g, '').replace(/&[#\w]+;/g, (entity) => TEXT[entity]))
  .filter((code) => code.includes('@anthropic-ai/sdk'))

t.test('messages, streamed and whole, and the count of their tokens', async (t) => {
  t.equal(examples.length, 4)
  for (const code of examples) {
    const [command, args] = plainNode(['--input-type=module', '--eval', code.replaceAll('http://127.0.0.1:8080', gateway.url)])
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: import.meta.dirname,
      env: { PATH: process.env.PATH, KEY: gateway.key },
    })
    t.match(stdout, /Say hello|input_tokens: \d|text_delta/, code)
  }
})
