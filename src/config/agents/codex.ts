/** Codex, which speaks the Responses format alone. */
import type { Agent } from './agent.ts'

const quoted = (text: string): string => JSON.stringify(text)

export const codex: Agent = {
  name: 'codex',
  title: 'Codex',
  package: 'npm @openai/codex 0.171.0',
  sources: ['https://developers.openai.com/codex/config-reference', 'docs/agents/codex.md: run by hand on 2026-11-23'],
  format: 'responses',
  names: { main: ['codex/main'] },
  setUp: ({ url, key, models: { main } }) => [
    {
      to: '~/.codex/config.toml',
      text: [
        `model = ${quoted(main.name)}`,
        'model_provider = "headgate"',
        ...(main.context === undefined ? [] : [`model_context_window = ${main.context}`]),
        '',
        '[model_providers.headgate]',
        'name = "headgate"',
        `base_url = ${quoted(`${url}/v1`)}`,
        'env_key = "HEADGATE_KEY"',
        'wire_api = "responses"',
      ].join('\n'),
    },
    { to: 'shell', text: `export HEADGATE_KEY=${key}` },
  ],
  starts: [
    {
      role: 'main',
      tools: true,
      body: {
        stream: true,
        store: false,
        instructions: 'You are an agent.',
        parallel_tool_calls: true,
        prompt_cache_key: 'headgate-agents-check',
      },
    },
  ],
}
