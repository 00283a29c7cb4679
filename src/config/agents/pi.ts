/** pi, by the Chat Completions format. */
import { type Agent, type AgentModel, distinctModels, jsonText } from './agent.ts'

/** pi takes a model that says nothing of it for one that neither reads images nor reasons, and sends it neither. */
const listed = ({ name, context, maxOutput, images, reasons }: AgentModel): object => ({
  id: name,
  ...(context === undefined ? {} : { contextWindow: context }),
  ...(maxOutput === undefined ? {} : { maxTokens: maxOutput }),
  ...(images ? { input: ['text', 'image'] } : {}),
  ...(reasons ? { reasoning: true } : {}),
})

export const pi: Agent = {
  name: 'pi',
  title: 'pi',
  package: 'npm @earendil-works/pi-coding-agent 1.6.0',
  sources: ['docs/models.md and docs/settings.md of the package'],
  format: 'chat',
  names: { main: ['pi/main'] },
  setUp: (place) => [
    {
      to: '~/.pi/agent/models.json',
      text: jsonText({
        providers: {
          headgate: {
            baseUrl: `${place.url}/v1`,
            api: 'openai-completions',
            apiKey: '$HEADGATE_KEY',
            // Each turn names its session, so that the conversation stays where it is cached, and marks what Anthropic has to cache.
            compat: { sendSessionAffinityHeaders: true, cacheControlFormat: 'anthropic' },
            models: distinctModels(place).map(listed),
          },
        },
      }),
    },
    { to: '~/.pi/agent/settings.json', text: jsonText({ defaultProvider: 'headgate', defaultModel: place.models.main.name }) },
    { to: 'shell', text: `export HEADGATE_KEY=${place.key}` },
  ],
  starts: [{ role: 'main', tools: true, body: { stream: true, stream_options: { include_usage: true } } }],
}
