/** The request of the playground as code for the usual clients. */
import { Code, CopyButton } from '../components/copy.tsx'
import { useQuery } from '../router.ts'

export interface CodeInput {
  /** Origin of the public API. */
  readonly url: string
  readonly model: string
  readonly system: string
  readonly prompt: string
  /** Undefined: none is sent. */
  readonly maxTokens: number | undefined
}

/** Names and calls as test/clients/ uses them: openai 7.57.0, ai 7.0.173 with @ai-sdk/openai-compatible 3.0.92, @anthropic-ai/sdk 1.12.0. */
const CLIENTS: readonly (readonly [name: string, title: string, code: (input: CodeInput) => string])[] = [
  ['curl', 'curl', curl],
  ['openai-ts', 'OpenAI SDK, TypeScript', openaiTs],
  ['openai-py', 'OpenAI SDK, Python', openaiPy],
  ['ai-sdk', 'AI SDK', aiSdk],
  ['anthropic', 'Anthropic SDK', anthropic],
]

export function CodeFor({ input }: { input: CodeInput }) {
  const [query, setQuery] = useQuery()
  const [name, title, code] = CLIENTS.find(([each]) => each === query.code) ?? CLIENTS[0] ?? ['', '', curl]
  const text = code(input)
  return (
    <>
      <div class="tabs">
        {CLIENTS.map(([each, label]) => (
          <button key={each} type="button" class="button small" aria-pressed={each === name} onClick={() => setQuery({ code: each })}>
            {label}
          </button>
        ))}
      </div>
      <div class="code-head">
        <p class="quiet">
          The key is read from <code>GATEWAY_KEY</code>.
        </p>
        <CopyButton text={text} what="the code" />
      </div>
      <Code text={text} label={`Code for ${title}`} />
    </>
  )
}

/** JSON is also a literal of JavaScript and Python for texts. */
const literal = (text: string): string => JSON.stringify(text)

function messages({ system, prompt }: CodeInput): { role: string; content: string }[] {
  return [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content: prompt }]
}

function listed(input: CodeInput, indent: string, quoted: boolean): string {
  const [role, content] = quoted ? ['"role"', '"content"'] : ['role', 'content']
  const lines = messages(input).map(
    (message) => `${indent}  { ${role}: ${literal(message.role)}, ${content}: ${literal(message.content)} },`,
  )
  return `[\n${lines.join('\n')}\n${indent}]`
}

function curl(input: CodeInput): string {
  const { url, model, maxTokens } = input
  const body = JSON.stringify({ model, stream: true, ...(maxTokens && { max_tokens: maxTokens }), messages: messages(input) }, undefined, 2)
  return `curl -N ${url}/v1/chat/completions \\
  -H "Authorization: Bearer $GATEWAY_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("'", `'\\''`)}'`
}

function openaiTs(input: CodeInput): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${literal(`${input.url}/v1`)}, apiKey: process.env.GATEWAY_KEY })
const stream = await client.chat.completions.create({
  model: ${literal(input.model)},
  stream: true,${input.maxTokens ? `\n  max_tokens: ${input.maxTokens},` : ''}
  messages: ${listed(input, '  ', false)},
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')`
}

function openaiPy(input: CodeInput): string {
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${literal(`${input.url}/v1`)}, api_key=os.environ["GATEWAY_KEY"])
stream = client.chat.completions.create(
    model=${literal(input.model)},
    stream=True,${input.maxTokens ? `\n    max_tokens=${input.maxTokens},` : ''}
    messages=${listed(input, '    ', true)},
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
}

function aiSdk({ url, model, system, prompt, maxTokens }: CodeInput): string {
  return `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'

const gateway = createOpenAICompatible({ name: 'gateway', baseURL: ${literal(`${url}/v1`)}, apiKey: process.env.GATEWAY_KEY })
const { textStream } = streamText({
  model: gateway(${literal(model)}),${system ? `\n  instructions: ${literal(system)},` : ''}${maxTokens ? `\n  maxOutputTokens: ${maxTokens},` : ''}
  prompt: ${literal(prompt)},
})
for await (const text of textStream) process.stdout.write(text)`
}

function anthropic({ url, model, system, prompt, maxTokens }: CodeInput): string {
  return `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: ${literal(url)}, apiKey: null, authToken: process.env.GATEWAY_KEY })
const stream = client.messages.stream({
  model: ${literal(model)},
  max_tokens: ${maxTokens ?? 1024},${system ? `\n  system: ${literal(system)},` : ''}
  messages: [{ role: 'user', content: ${literal(prompt)} }],
})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage()`
}
