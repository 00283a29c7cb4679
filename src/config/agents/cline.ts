/** Cline, on the command line, by the Chat Completions format. */
import type { Agent } from './agent.ts'

export const cline: Agent = {
  name: 'cline',
  title: 'Cline',
  package: 'npm cline 3.0.65',
  sources: ['README.md of the package: "cline auth"', '@cline/llms 0.0.86: the provider openai-compatible'],
  format: 'chat',
  names: { main: ['cline/main'] },
  setUp: ({ url, key, models: { main } }) => [
    { to: 'shell', text: `cline auth --provider openai-compatible --apikey ${key} --modelid ${main.name} --baseurl ${url}/v1` },
  ],
  starts: [{ role: 'main', tools: true, body: { stream: true, stream_options: { include_usage: true } } }],
}
