/** Aider, by the Chat Completions format. */
import { type Agent, type AgentModel, distinctModels, jsonText } from './agent.ts'

/** Aider takes a model that says nothing of it for one that reads no images, and looks up on the internet one that does not stand here. */
const facts = ({ context, maxOutput, images }: AgentModel): object => ({
  litellm_provider: 'openai',
  mode: 'chat',
  ...(context === undefined ? {} : { max_input_tokens: context }),
  ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
  ...(images ? { supports_vision: true } : {}),
})

export const aider: Agent = {
  name: 'aider',
  title: 'Aider',
  package: 'pip aider-chat 0.86.2',
  sources: ['https://aider.chat/docs/llms/openai-compat.html', 'aider/models.py of the package: ModelInfoManager'],
  format: 'chat',
  names: { main: ['aider/main'], small: ['aider/small'] },
  setUp: (place) => [
    {
      to: '~/.aider.conf.yml',
      // Aider takes the prefix off before it sends the name.
      text: [
        `model: openai/${place.models.main.name}`,
        `weak-model: openai/${place.models.small.name}`,
        `openai-api-base: ${place.url}/v1`,
        `openai-api-key: ${place.key}`,
        'show-model-warnings: false',
      ].join('\n'),
    },
    {
      to: '~/.aider.model.metadata.json',
      text: jsonText(Object.fromEntries(distinctModels(place).map((model) => [`openai/${model.name}`, facts(model)]))),
    },
  ],
  starts: [
    { role: 'main', tools: false, body: { stream: true, temperature: 0 } },
    { role: 'small', tools: false, body: { stream: false, temperature: 0 } },
  ],
}
