/** The snippets of the quick start as they stand there, but for address and key. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { plainNode } from '../support/program.ts'
import { startScene } from '../support/scene.ts'
import { says } from '../support/wire.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/quick-start.md'), 'utf8')
const snippets = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code)

const gateway = await startGateway(`
providers: { sim: { dialect: sim } }
models:
${['echo', 'story'].map((name) => `  sim/${name}: { context: 32768, endpoints: [ { provider: sim, model: ${name}, price: free } ] }`).join('\n')}
`)
t.teardown(() => gateway.close())

/** Runs a snippet where the clients are installed. @returns what it printed. */
async function printed(code: string, { url, key } = gateway): Promise<string> {
  const here = code.replaceAll('http://127.0.0.1:8080', url).replaceAll('sk-router-v1-dev', key)
  const [command, args] = plainNode(['--input-type=module', '--eval', here])
  const { stdout } = await promisify(execFile)(command, args, { cwd: import.meta.dirname })
  return stdout
}

/** Story of the simulated model. */
const story = async (): Promise<string> => {
  const reply = await gateway.post('/v1/responses', { model: 'sim/story', input: 'Tell me one.' })
  const { output } = (await reply.json()) as { output: { content: { text: string }[] }[] }
  return output[0].content[0].text
}

t.test('every snippet names its client', async (t) => {
  t.same(
    snippets.map((code) => /from '([^']+)'/.exec(code)?.[1]),
    ['openai', '@ai-sdk/openai-compatible', '@anthropic-ai/sdk'],
  )
})

t.test('OpenAI SDK', async (t) => {
  const lines = await printed(snippets[0])
  t.match(lines, await story())
  t.match(lines, /Hello\n$/)
})

t.test('AI SDK', async (t) => {
  t.equal(await printed(snippets[1]), await story())
})

t.test('AI SDK, with a schema for the answer', async (t) => {
  const { gateway: other, upstream } = await startScene(t, { answer: says({ text: ['{"city":"Oslo"}'] }) })
  const [made] = snippets[1].replace("{ streamText } from 'ai'", "{ generateText, jsonSchema, Output } from 'ai'").split('const { textStream }')
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
  const question = `{ model: headgate('acme/one'), prompt: 'Which?', output: Output.object({ schema: jsonSchema(${JSON.stringify(schema)}) }) }`
  t.equal(await printed(`${made}console.log((await generateText(${question})).output.city)`, other), 'Oslo\n')
  t.match(upstream.requests[0].json.response_format, { type: 'json_schema', json_schema: { schema } })
})

t.test('Anthropic SDK', async (t) => {
  // The text is shown as an object of Node's own printing: words apart.
  const words = (text: string) => text.match(/[A-Za-z]{2,}/g) ?? []
  const shown = words(await printed(snippets[2]))
  for (const word of words(await story())) t.ok(shown.includes(word), word)
})
