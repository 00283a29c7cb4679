/** Qwen Code, by the Chat Completions format. */
import { type Agent, distinctModels, jsonText } from './agent.ts'

export const qwenCode: Agent = {
  name: 'qwen-code',
  title: 'Qwen Code',
  package: 'npm @qwen-code/qwen-code 0.15.10',
  sources: ['bundled/qc-helper/docs/configuration/auth.md and settings.md of the package'],
  format: 'chat',
  names: { main: ['qwen-code/main'], small: ['qwen-code/small'] },
  setUp: (place) => [
    {
      to: '~/.qwen/settings.json',
      text: jsonText({
        modelProviders: {
          openai: distinctModels(place).map(({ name }) => ({ id: name, name, baseUrl: `${place.url}/v1`, envKey: 'HEADGATE_KEY' })),
        },
        security: { auth: { selectedType: 'openai' } },
        model: { name: place.models.main.name },
        fastModel: place.models.small.name,
      }),
    },
    { to: 'shell', text: `export HEADGATE_KEY=${place.key}` },
  ],
  starts: [{ role: 'main', tools: true, body: { stream: true, stream_options: { include_usage: true } } }],
}
