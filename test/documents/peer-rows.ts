/** Behaviour of other gateways that their users meet here in another form: the rows of docs/behaviour/peers.md, which `npm run generate` writes from here. */
import type { BehaviourRow } from './behaviour-row.ts'

const BREAKS = ['gateway/routing/faults', 'ends the reply with one error, and calls no backup, after content: closed'] as const
const MONEY = ['gateway/formats/contract', 'returns 402 without credit, and a key shows what it has used'] as const
const HEADERS = ['gateway/formats/peer-habits', 'headers of other gateways are not read, and go to no provider'] as const
const KEYS = ['gateway/formats/peer-habits', 'a key in the header of another gateway is none'] as const
const NAMES = [
  'gateway/formats/peer-habits',
  'names of models in the words of other gateways are none of ours, and the error says so',
] as const
const WRONG = ['gateway/routing/fallback', 'returns a request that is wrong, and does not try it again on the same model'] as const
const LACKS = [
  'gateway/routing/probe-routing',
  'leaves out a parameter that an endpoint lacks, or removes the endpoint with require_parameters',
] as const
const HELD = 'What a request may cost is held before the provider is called; 402 with what is needed and what is left'

export const PEER_ROWS: readonly BehaviourRow[] = [
  {
    who: 'LiteLLM',
    version: 'documentation of October 2026',
    inShort: 'a parameter that the model does not take',
    input: 'A parameter that the model does not take',
    does: 'An exception, unless `drop_params` is set',
    makes: 'It is left out and recorded; with `provider.require_parameters` such endpoints are removed',
    source: 'https://docs.litellm.ai/docs/completion/drop_params',
    tests: [LACKS],
  },
  {
    who: 'LiteLLM',
    version: 'pull request of 2026',
    input: 'A key whose budget does not suffice',
    does: '429 of the type `budget_exceeded`: SDKs take it for a rate limit and call again',
    makes: `${HELD}, which no SDK tries again`,
    source: 'https://github.com/BerriAI/litellm/pull/40002',
    tests: [MONEY],
  },
  {
    who: 'LiteLLM',
    version: 'documentation of October 2026',
    inShort: 'a stream without `stream_options`',
    input: 'A stream without `stream_options`',
    does: 'No usage, unless `always_include_stream_usage` is set',
    makes: 'The last chunk has usage and cost, always',
    source: 'https://docs.litellm.ai/docs/completion/usage',
    tests: [['gateway/formats/sdk-chat', 'a stream has one id, usage in its last chunk, and [DONE]']],
  },
  {
    who: 'LiteLLM',
    version: 'documentation of October 2026',
    input: '`metadata: { tags: [ … ] }` in the body',
    does: 'Tags of the request',
    makes: '400 that names `metadata`, whose values are texts',
    source: 'https://docs.litellm.ai/docs/proxy/reject_clientside_metadata_tags',
    tests: [['gateway/formats/peer-habits', 'tags of LiteLLM are a list where metadata takes texts']],
  },
  {
    who: 'Bifrost',
    version: '1.5.16 to 1.6.5',
    inShort: 'a stream that breaks off',
    input: 'A provider whose stream breaks off, before or after content',
    does: 'An empty chunk and `[DONE]`, as if the answer were whole; from July 2026 on a 502 in the stream',
    makes: 'Before content the next provider; after it an `error` in the last chunk, and no `[DONE]`',
    source: 'https://github.com/maximhq/bifrost/issues/5546',
    tests: [BREAKS],
  },
  {
    who: 'Bifrost',
    version: 'documentation of 2026',
    input: 'A virtual key in `x-bf-vk`',
    does: 'Takes it, as it does in `Authorization`, `x-api-key` and `x-goog-api-key`',
    makes: 'The last three alone; otherwise 401',
    source: 'https://docs.getbifrost.ai/features/governance/virtual-keys',
    tests: [KEYS],
  },
  {
    who: 'Portkey',
    version: '1.15.2, run',
    inShort: 'a request that the first provider refuses with 400',
    input: 'Mode `fallback`, and a first target that refuses the request with 400',
    does: 'Sends the same request to the second target; any status but 2xx goes on unless `on_status_codes` is set',
    makes:
      'A wrong request (400, 409, 413, 422) comes back at once; what only this provider cannot take, and other failures, go on to the next endpoint',
    source: 'npm @portkey-ai/gateway 1.15.2; https://portkey.ai/docs/portkey-features/ai-gateway/fallbacks-on-llms',
    tests: [WRONG, ['gateway/routing/fallback', 'calls the second provider when the first one fails']],
  },
  {
    who: 'Portkey',
    version: '1.15.2, run',
    input: 'A 429 of a single target',
    does: 'Comes back at once: nothing is tried again unless the config has `retry`',
    makes: 'The next endpoint; where all are limited, 429 with the smallest `Retry-After`',
    source: 'npm @portkey-ai/gateway 1.15.2',
    tests: [['gateway/routing/faults', 'all limited: 429 with the smallest hint']],
  },
  {
    who: 'Portkey, Cloudflare, LiteLLM',
    version: 'documentation of 2026',
    input: 'Headers that say how a request goes: `x-portkey-config`, `cf-aig-cache-ttl`, `cf-aig-max-attempts`, `x-litellm-num-retries`',
    does: 'Routing, a cache of answers, attempts per request',
    makes: 'They are not read and go to no provider; there is no cache of answers, and no `cf-aig-cache-status`',
    source: 'https://developers.cloudflare.com/ai-gateway/glossary; https://portkey.ai/docs/product/ai-gateway/configs',
    tests: [HEADERS],
  },
  {
    who: 'Portkey, TensorZero',
    version: '1.15.2; 2026.6.0, the last one',
    input: 'A model as `@provider/model` or `tensorzero::model_name::…`',
    does: 'The words before the name choose the provider',
    makes: '400 that says how a slug is written; `provider.only` chooses',
    source: 'https://portkey.ai/docs; https://tensorzero.com/docs/gateway/api-reference/inference-openai-compatible',
    tests: [NAMES],
  },
  {
    who: 'OpenRouter',
    version: 'documentation of 2026',
    input: 'A stream whose model is silent',
    does: 'Comments (`: OPENROUTER PROCESSING`), on which readers that parse each line as JSON break',
    makes: 'Comments after each ten seconds of silence, between events, never within one',
    source: 'https://openrouter.ai/docs/api/reference/streaming',
    tests: [['gateway/routing/faults', 'sends a comment after every ten seconds of silence']],
  },
  {
    who: 'OpenRouter',
    version: 'documentation of 2026',
    input: 'A failure while the model writes',
    does: 'Status 200, and an event with `error` in the stream',
    makes: 'The same; a failure before content has its own status',
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
    tests: [BREAKS],
  },
  {
    who: 'agentgateway',
    version: '1.5.0',
    input: 'A key whose budget is spent',
    does: '429',
    makes: HELD,
    source: 'https://dev.to/webofmike/agentgateway-v150-per-key-llm-budgets-that-return-429-1dng',
    tests: [MONEY],
  },
  {
    who: 'Vercel AI Gateway',
    version: 'documentation of September 2026',
    inShort: 'the request that crosses the budget of its key',
    input: 'The request that crosses the budget of its key',
    does: 'It is served: the budget is looked at before a request, and is a soft cap',
    makes: HELD,
    source: 'https://vercel.com/docs/ai-gateway/observability-and-spend/api-key-budgets',
    tests: [MONEY],
  },
]
