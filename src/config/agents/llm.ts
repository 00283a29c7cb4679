/** llm, the command line tool, by the Chat Completions format. */
import { type Agent, distinctModels } from './agent.ts'

export const llm: Agent = {
  name: 'llm',
  title: 'llm',
  package: 'pip llm 0.36',
  sources: ['llm/default_plugins/openai_models.py of the package: register_models'],
  format: 'chat',
  names: { main: ['llm/main'] },
  setUp: (place) => [
    {
      to: 'extra-openai-models.yaml in the directory of `llm logs path`',
      text: distinctModels(place)
        .flatMap(({ name, images }) => [
          `- model_id: ${name}`,
          `  model_name: ${name}`,
          `  api_base: ${place.url}/v1`,
          '  api_key_name: headgate',
          '  supports_tools: true',
          '  supports_schema: true',
          ...(images ? ['  vision: true'] : []),
        ])
        .join('\n'),
    },
    { to: 'shell', text: `llm keys set headgate --value ${place.key}\nllm models default ${place.models.main.name}` },
  ],
  starts: [{ role: 'main', tools: false, body: { stream: true, stream_options: { include_usage: true } } }],
}
