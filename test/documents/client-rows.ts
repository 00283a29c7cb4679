/** Behaviour of real clients, and headgate's answer to it: the rows of docs/behaviour/clients.md, which `npm run generate` writes from here. */
import type { BehaviourRow } from './behaviour-row.ts'

const PAUSE = ['gateway/limits/retry-after', 'a pause that a provider states'] as const
const LESS = 'No reply has a `Retry-After` above 60 s; a longer pause has `X-Should-Retry: false`, and its true length in the error'

export const CLIENT_ROWS: readonly BehaviourRow[] = [
  {
    who: 'openai (npm)',
    version: '7.59.0',
    input: '429 with `Retry-After: 61`',
    does: 'Calls again after half a second; it waits for pauses of up to 60 s',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: 'openai (npm)',
    version: '7.59.0',
    input: '429 with `Retry-After: 0`',
    does: 'Calls again at once',
    makes: 'No reply has a `Retry-After` of 0',
    tests: [PAUSE],
  },
  {
    who: 'openai (PyPI)',
    version: '3.57.0',
    input: '429 with `Retry-After: 121`',
    does: 'Gives up without a second call; it waits for pauses of up to 120 s',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: '@anthropic-ai/sdk (npm), anthropic (PyPI)',
    version: '1.14.0, 2.14.0',
    input: '429 with `Retry-After: 86400`',
    does: 'Sleeps for a day',
    makes: LESS,
    tests: [PAUSE],
  },
  {
    who: 'async-openai (Rust)',
    version: '0.43.0',
    input: 'An error whose `code` is a number',
    does: 'The error is lost, and a 429 is not tried again',
    makes: '`errors.code: auto` gives it a name',
    tests: [
      ['gateway/formats/error-codes', 'auto: async-openai sends no User-Agent by itself, and what reqwest sends'],
      ['gateway/formats/error-codes', 'auto: clients that need a name get one, all others the status'],
    ],
  },
  {
    who: 'async-openai (Rust)',
    version: '0.43.0',
    input: 'A reply or a chunk without `created`, or with a `service_tier` that OpenAI does not have',
    does: 'Throws it away',
    makes: '`created` is filled in, and a tier is one of OpenAI’s words or left out',
    tests: [
      ['gateway/formats/typed-members', 'whole replies'],
      ['gateway/formats/typed-members', 'streams'],
    ],
  },
  {
    who: '@anthropic-ai/sdk (npm), the tool runner',
    version: '1.14.0',
    input: 'The result of a tool, at any server',
    does: 'Sends `thread` and the newest messages alone, as if the server kept the conversation',
    makes: 'It goes to a provider that keeps threads; otherwise it is a 400 in the words on which the SDK sends all of it',
    tests: [['clients/anthropic', 'the tool runner sends anthropic the whole conversation, since it keeps no threads']],
  },
  {
    who: 'AI SDK, `@ai-sdk/openai` with its defaults',
    version: 'as docs/clients.md has it',
    input: 'A second turn in the format of Responses',
    does: 'Names earlier items by their ids alone',
    makes: 'References are left out and recorded where the conversation is whole without them; otherwise the error names the cure',
    tests: [
      ['clients/references', 'AI SDK with its defaults: a model of openai-chat that thinks before it calls'],
      ['clients/references', 'AI SDK with its defaults: the text of a model of openai-chat is in the client alone'],
    ],
  },
  {
    who: 'Mastra, over `@ai-sdk/openai` with its defaults',
    version: '1.71.0',
    input: 'A second question in the format of Responses, without a memory of its own',
    does: 'As the AI SDK: the answer is named by its id alone',
    makes: 'A 400 that names `store: false`; calls of tools within one question work',
    tests: [
      ['clients/mastra', 'Mastra with its defaults refers to an answer that is not stored, and the error names the setting that helps'],
    ],
  },
  {
    who: 'go-openai, eino (Go)',
    version: '1.43.0, 0.1.7',
    input: 'A last chunk that has both `error` and `choices`',
    does: 'Sees the error where it is the first member of the object, and ends well otherwise',
    makes: '`error` is the first member',
    tests: [
      ['server/failed-streams', 'a failed chat stream ends without its last chunk, behind its error, by a FIN'],
      ['clients/failures', 'a stream that breaks'],
    ],
  },
  {
    who: 'langchaingo (Go), langchain4j (Java), Mistral’s clients',
    version: '0.1.14, 1.19.0, 2.7.0 and 3.7.0',
    input: 'The same chunk, then `[DONE]`',
    does: 'Ends well',
    makes: 'The connection is cut behind the error, without `[DONE]`',
    tests: [
      ['server/failed-streams', 'a failed chat stream ends without its last chunk, behind its error, by a FIN'],
      ['clients/ends-of-others', 'no failure reads as a success to clients of others (seed 1)'],
    ],
  },
  {
    who: 'openai (npm, PyPI), openai-go',
    version: '7.59.0, 3.57.0, 3.98.0',
    input: '`response.failed`, and a clean end',
    does: 'Ends without an error',
    makes: 'An event `error` that holds an object `error` stands in front of it, on which all three raise',
    tests: [
      ['server/failed-streams', 'failed streams of the other formats end as they should, and the connection stays'],
      ['clients/ends', 'no failure reads as a success (seed 1)'],
    ],
  },
  {
    who: 'Mistral’s clients (npm, PyPI)',
    version: '2.7.0, 3.7.0',
    input: 'A later piece of a streamed tool call without a name',
    does: 'Raises, and the call is lost',
    makes: 'Each piece has an empty name where the `User-Agent` is theirs',
    tests: [['gateway/formats/demanding-clients', 'pieces of calls of openai-chat, lane pass']],
  },
  {
    who: 'The HTTP client of the JDK, so langchain4j and Spring AI',
    version: '17',
    input: 'Any request over plain HTTP',
    does: 'Offers `Upgrade: h2c`, with a body too',
    makes: 'The offer is ignored, and the request answered',
    tests: [['gateway/formats/http-forms', 'the HTTP client of the JDK as it is, and curl --http2']],
  },
  {
    who: 'MCP SDK for Go (`jsonschema-go`)',
    version: '0.4.3',
    input: 'A tool with a field of any type',
    does: 'Writes the schema `true`, which llama.cpp’s server and Ollama refuse',
    makes: '`{}` reaches both',
    tests: [['providers/boolean-schemas', 'llama-cpp, /v1/chat/completions']],
  },
  {
    who: 'Qwen Code, at models whose name begins with `qwen`',
    version: '0.24.4',
    input: 'A request of its own, such as that for a summary',
    does: 'Writes `chat_template_kwargs: {enable_thinking: false}`, which OpenAI refuses',
    makes: 'The provider’s own word for no thinking, where it is known',
    tests: [['gateway/formats/thinking-switches', 'a provider whose way is known gets its own word']],
  },
]
