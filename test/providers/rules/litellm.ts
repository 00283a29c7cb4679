/**
 * Requests that a LiteLLM proxy accepts at /chat/completions (PyPI litellm 1.109.1): it looks at model and messages, and what the provider behind it
 * refuses is refused here (docs.litellm.ai/docs/completion/drop_params). Behind it is OpenAI's gpt-4.1-mini, as such a proxy has it.
 */
import type { Rules } from '../stand-in.ts'
import { bearer, refusal } from './chat-parts.ts'
import { openaiChat } from './openai-chat.ts'

export const litellm: Rules = {
  preset: 'litellm',
  wire: 'openai-chat',
  sources: ['PyPI litellm 1.109.1, proxy/proxy_server.py', 'https://docs.litellm.ai/docs/completion/drop_params', ...openaiChat.sources],
  models: [
    {
      slug: 'litellm/gpt-4.1-mini',
      name: 'gpt-4.1-mini',
      // What the model behind the proxy takes: the operator states it, as for any model that does not take all.
      entry:
        'input: [text, image]\nendpoints: [{ provider: litellm, model: gpt-4.1-mini, price: { prompt: "1", completion: "1" }, supported_parameters: [max_tokens, max_completion_tokens, temperature, top_p, stop, seed, response_format, structured_outputs, tools, tool_choice, parallel_tool_calls] }]',
      images: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Authentication Error, Invalid proxy server token passed', { type: 'auth_error', code: '401' })),
  check: openaiChat.check,
}
