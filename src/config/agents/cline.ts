/** Cline, on the command line. */
import type { Agent } from './agent.ts'

export const cline: Agent = {
  name: 'cline',
  title: 'Cline',
  package: 'npm cline 3.0.65',
  sources: ['README.md of the package: "cline auth"'],
  format: 'chat',
  names: { main: ['cline/main'] },
  setUp: ({ url, key, models: { main } }) => [
    { to: 'shell', text: `cline auth --provider openai-native --apikey ${key} --modelid ${main.name} --baseurl ${url}/v1` },
  ],
  starts: [{ role: 'main', tools: true, body: { stream: true, stream_options: { include_usage: true } } }],
}
