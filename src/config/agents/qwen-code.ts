/** Qwen Code, by the Chat Completions format. */
import { type Agent, type AgentModel, distinctModels, jsonText } from './agent.ts'

/** Facts that Qwen Code would guess from the model's name. */
function facts({ context, images }: AgentModel): object {
  const known = { ...(context === undefined ? {} : { contextWindowSize: context }), ...(images ? { modalities: { image: true } } : {}) }
  return Object.keys(known).length === 0 ? {} : { generationConfig: known }
}

export const qwenCode: Agent = {
  name: 'qwen-code',
  title: 'Qwen Code',
  package: 'npm @qwen-code/qwen-code 0.24.4',
  sources: ['bundled/qc-helper/docs/configuration/auth.md, model-providers.md and settings.md of the package'],
  format: 'chat',
  names: { main: ['qwen-code/main'], small: ['qwen-code/small'] },
  setUp: (place) => [
    {
      to: '~/.qwen/settings.json',
      text: jsonText({
        modelProviders: {
          openai: distinctModels(place).map((model) => ({
            id: model.name,
            name: model.name,
            baseUrl: `${place.url}/v1`,
            envKey: 'HEADGATE_KEY',
            ...facts(model),
          })),
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
