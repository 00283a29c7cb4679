/** Aider, by the Chat Completions format. */
import type { Agent } from './agent.ts'

export const aider: Agent = {
  name: 'aider',
  title: 'Aider',
  package: 'pip aider-chat 0.86.2',
  sources: ['https://aider.chat/docs/llms/openai-compat.html', 'docs/agents/aider.md: run by hand on 2026-11-26'],
  format: 'chat',
  names: { main: ['aider/main'], small: ['aider/small'] },
  setUp: ({ url, key, models: { main, small } }) => [
    {
      to: '~/.aider.conf.yml',
      // Aider takes the prefix off before it sends the name.
      text: [
        `model: openai/${main.name}`,
        `weak-model: openai/${small.name}`,
        `openai-api-base: ${url}/v1`,
        `openai-api-key: ${key}`,
        'show-model-warnings: false',
      ].join('\n'),
    },
  ],
  starts: [
    { role: 'main', tools: false, body: { stream: true, temperature: 0 } },
    { role: 'small', tools: false, body: { stream: false, temperature: 0 } },
  ],
}
