/** opencode, by the Chat Completions format. */
import { type Agent, type AgentModel, distinctModels, jsonText } from './agent.ts'

/** opencode takes no limits that are not whole: one without the other is left out. */
const limits = ({ context, maxOutput }: AgentModel): object =>
  context === undefined || maxOutput === undefined ? {} : { limit: { context, output: maxOutput } }

/** opencode takes a model that says nothing of it for one that neither reads images nor reasons. */
const abilities = ({ images, reasons }: AgentModel): object => ({
  ...(images ? { attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } } : {}),
  ...(reasons ? { reasoning: true } : {}),
})

export const opencode: Agent = {
  name: 'opencode',
  title: 'opencode',
  package: 'npm opencode-ai 1.18.33',
  sources: ['https://opencode.ai/v1/docs/providers.md', 'https://opencode.ai/v1/docs/agents.md'],
  format: 'chat',
  names: { main: ['opencode/main'], plan: ['opencode/plan'], small: ['opencode/small'] },
  setUp: (place) => [
    {
      to: '~/.config/opencode/opencode.json',
      text: jsonText({
        $schema: 'https://opencode.ai/config.json',
        model: `headgate/${place.models.main.name}`,
        small_model: `headgate/${place.models.small.name}`,
        agent: { plan: { model: `headgate/${place.models.plan.name}` } },
        provider: {
          headgate: {
            npm: '@ai-sdk/openai-compatible',
            name: 'headgate',
            options: { baseURL: `${place.url}/v1`, apiKey: '{env:HEADGATE_KEY}' },
            models: Object.fromEntries(
              distinctModels(place).map((model) => [model.name, { name: model.name, ...limits(model), ...abilities(model) }]),
            ),
          },
        },
      }),
    },
    { to: 'shell', text: `export HEADGATE_KEY=${place.key}` },
  ],
  starts: [
    { role: 'small', tools: false, body: { stream: true, stream_options: { include_usage: true }, max_tokens: 32_000 } },
    { role: 'main', tools: true, body: { stream: true, stream_options: { include_usage: true }, max_tokens: 32_000, tool_choice: 'auto' } },
  ],
}
