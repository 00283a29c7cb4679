/** Behaviour of real servers, and headgate's answer to it: the rows of docs/behaviour/model-servers.md, which `npm run generate` writes from here. */

export interface Row {
  readonly server: string
  readonly request: string
  readonly does: string
  readonly makes: string
  readonly tests: readonly HeldBy[]
}

/** A file of tests below `test/`, without its ending, and the title of a test in it or the text of an assertion. */
export type HeldBy = readonly [file: string, title: string]

export const ROWS: readonly Row[] = [
  {
    server: 'llama.cpp',
    request: '`/v1/responses`, streamed',
    does: 'Events have `item_id` alone: no `output_index`, `content_index`, `sequence_number`; all items end behind the last one',
    makes: 'Items are found by their ids; callers of Responses get the numbers',
    tests: [
      ['gateway/formats/real-server-forms', 'items without indexes: each call and each text comes once'],
      ['servers-real/llama-cpp', 'conversations over openai-responses'],
    ],
  },
  {
    server: 'llama.cpp',
    request: '`/v1/responses` with a system message among the items',
    does: 'Each message becomes a list of parts, and a template that renders no list for a system message loses it',
    makes: 'The first system message of callers of other formats goes out as `instructions`',
    tests: [['servers-real/llama-cpp', 'conversations over openai-responses']],
  },
  {
    server: 'llama.cpp',
    request: '`/v1/messages`, streamed',
    does: 'Blocks end in a row behind the last one; a `tool_use` block starts without `input`',
    makes: 'Each block ends before the next one starts, with an `input`',
    tests: [
      [
        'gateway/formats/real-server-forms',
        'thoughts without a signature and blocks numbered twice reach callers of Messages, and are taken back',
      ],
      ['servers-real/llama-cpp', 'conversations over anthropic'],
    ],
  },
  {
    server: 'llama.cpp',
    request: '`max_tokens` above the context',
    does: 'It is taken; the output ends with the context',
    makes: 'The cap is lowered to what is left ([decision 43](../decisions/0043-near-the-end-of-a-context.md))',
    tests: [['servers-real/llama-cpp', 'conversations over openai-chat']],
  },
  {
    server: 'llama.cpp',
    request: 'More requests than slots, streamed',
    does: 'They wait without limit, and without a head',
    makes: 'Presets of local servers wait ten minutes for the first byte',
    tests: [['servers-real/llama-cpp-life', 'more requests than it serves at once are all served']],
  },
  {
    server: 'llama.cpp',
    request: 'A caller leaves',
    does: 'A stream stops at once; a whole reply once a second has gone by without a result for any other request, not even for `GET /slots`',
    makes: 'The connection to the server is closed, of whole replies too',
    tests: [['servers-real/llama-cpp-life', 'the work of a caller that leaves is stopped']],
  },
  {
    server: 'transformers serve',
    request: 'A caller leaves',
    does: 'A stream stops at once; a whole reply is written to its end, whether its connection is closed or not',
    makes: 'The connection to the server is closed, of whole replies too',
    tests: [
      ['servers-real/transformers-life', 'the work of a caller that leaves is stopped'],
      ['servers-real/transformers-life', 'a whole reply is written to its end, without the gateway as well'],
    ],
  },
  {
    server: 'all',
    request: 'It is killed in an answer, and comes back',
    does: 'The connection breaks; while it is away, none is taken',
    makes: 'Each stream ends with the error of its format; 502 or 503 while it is away; it is used again once it is back',
    tests: [
      ['servers-real/llama-cpp-life', 'a server that is killed in an answer and comes back'],
      ['servers-real/transformers-life', 'a server that is killed in an answer and comes back'],
      ['servers-real/vllm', 'a server that is killed in an answer and comes back'],
      ['servers-real/ollama-life', 'a server that is killed in an answer and comes back'],
      ['servers-real/vectors', 'the same vectors when it is back'],
    ],
  },
  {
    server: 'llama.cpp, vLLM',
    request: 'Started without an alias',
    does: 'The id of the model is the path of its file or folder',
    makes: 'The slug is the path without its first slash',
    tests: [
      ['gateway/formats/unlike-lists', 'models are found with what their server states, and do what it may be able to'],
      ['servers-real/llama-cpp-life', 'a model without an alias is called by its path'],
    ],
  },
  {
    server: 'llama.cpp',
    request: '`GET /v1/models`',
    does: '`created` is the time of the request',
    makes: 'No news: the catalogue stays as it is',
    tests: [['gateway/formats/unlike-lists', 'models are found with what their server states, and do what it may be able to']],
  },
  {
    server: 'vLLM, llama.cpp',
    request: '`GET /v1/models` over the dialect `anthropic`',
    does: 'The list has `max_model_len` or `meta.n_ctx`',
    makes: 'Both are read',
    tests: [['gateway/formats/unlike-lists', 'models are found with what their server states, and do what it may be able to']],
  },
  {
    server: 'infinity',
    request: '`GET /v1/models`',
    does: '`capabilities` says `embed` or `rerank`',
    makes: 'The kind of the model; a model without it generates and embeds',
    tests: [['gateway/formats/unlike-lists', 'models are found with what their server states, and do what it may be able to']],
  },
  {
    server: 'Ollama',
    request: '`/v1/messages` with thinking and a tool',
    does: 'Thinking has no `signature`; thought and call both have the index 0',
    makes: '`signature: ""`, blocks numbered in order, taken back in the next turn',
    tests: [
      ['servers-real/ollama', 'a streamed thought and call of /v1/messages are blocks in order, signed with nothing, and taken back'],
      ['servers-real/ollama', 'two turns with a tool'],
    ],
  },
  {
    server: 'Ollama',
    request: '`reasoning_effort: "medium"` at a model other than gpt-oss',
    does: '400 `think value "medium" is not supported for this model`',
    makes: 'One more call without the effort, which is then left out for an hour',
    tests: [
      ['servers-real/ollama', 'an effort is left out at a model that refuses it'],
      ['gateway/formats/real-server-forms', 'an effort that the server refuses at its model is left out in a second call'],
    ],
  },
  {
    server: 'Ollama',
    request: '`developer` messages at `/v1/responses`',
    does: 'They are left out without an error',
    makes: 'The quirk `developer: system` of `openai-responses`',
    tests: [
      ['servers-real/ollama', 'developer messages reach the model at /v1/responses'],
      ['gateway/formats/real-server-forms', 'developer messages go out as system messages where a Responses server loses them'],
    ],
  },
  {
    server: 'Ollama',
    request: 'An answer that was a thought alone, as a turn of Chat Completions',
    does: '400 `invalid message content type: <nil>` where `content` is null and there are no calls',
    makes: 'Its `content` is an empty text',
    tests: [
      ['servers-real/ollama', 'each reply is taken back as a turn'],
      ['gateway/formats/real-server-forms', 'an answer that was a thought alone comes back as a message with an empty text'],
    ],
  },
  {
    server: 'Ollama',
    request: 'Models of a list, over each dialect',
    does: 'The list has names alone; `/api/show` has `num_ctx`, what a model was made for, and `capabilities`',
    makes: 'Both are read, of providers of the dialect `anthropic` as well',
    tests: [
      ['servers-real/ollama', 'what is found of the models'],
      ['catalog/local-servers', 'Ollama over the dialect of Anthropic'],
    ],
  },
  {
    server: 'Ollama',
    request: 'More requests than `OLLAMA_NUM_PARALLEL`',
    does: 'They wait without limit, and without a head',
    makes: 'The presets `ollama`, `ollama-responses` and `ollama-messages` wait ten minutes for the first byte',
    tests: [['servers-real/ollama-life', 'more requests than it serves at once are all served']],
  },
  {
    server: 'Ollama',
    request: 'More than `OLLAMA_MAX_QUEUE` requests for models that are not in memory',
    does: '503 `server busy, please try again`; the `type` is that of any fault of the server',
    makes: '529 `provider_overloaded`, and the next endpoint',
    tests: [
      ['servers-real/ollama-life', 'at the end of the queue'],
      ['gateway/formats/real-server-errors', 'Ollama: the end of its queue'],
    ],
  },
  {
    server: 'Ollama',
    request: '`max_completion_tokens` at `/v1/chat/completions`',
    does: 'It is ignored: the answer has no cap',
    makes: 'The preset sends `max_tokens`',
    tests: [['servers-real/ollama', 'conversations over openai-chat']],
  },
  {
    server: 'Ollama',
    request: '`dimensions` of embeddings, and an input of more than the model reads',
    does: 'Vectors are cut, and so is the input, without an error',
    makes: 'The same',
    tests: [
      ['servers-real/vectors', 'dimensions, which Ollama cuts to'],
      ['servers-real/vectors', 'more than the model reads, which Ollama cuts'],
    ],
  },
  {
    server: 'Ollama, vLLM',
    request: 'A caller leaves',
    does: 'The work ends at once, of whole replies too',
    makes: 'The connection to the server is closed',
    tests: [
      ['servers-real/ollama-life', 'the work of a caller that leaves is stopped'],
      ['servers-real/vllm', 'the work of a caller that leaves is stopped'],
    ],
  },
  {
    server: 'vLLM',
    request: '`thinking` of Qwen 3 at `/v1/messages`',
    does: 'It is on unless `thinking.type` is `disabled`',
    makes: 'Effort `none` sends `disabled` where nothing is declared of the model',
    tests: [['dialects/messages/upstream-request', 'thinking: models that decide themselves']],
  },
  {
    server: 'all',
    request: 'Thoughts without a signature, replayed over another wire',
    does: 'The server would take them',
    makes: 'They are sent to servers with the quirk `unsigned_reasoning`, and left out at others',
    tests: [
      ['gateway/formats/real-server-words', 'thoughts without a signature go to servers that take them'],
      ['servers-real/llama-cpp-life', 'two turns with a tool'],
    ],
  },
  {
    server: 'all',
    request: 'Half a character in a text, or in the arguments of a call',
    does: '400 (llama.cpp, vLLM) or 500 (transformers serve, infinity)',
    makes: 'U+FFFD goes out in its place',
    tests: [['gateway/formats/real-server-words', 'half a character goes out as U+FFFD, in each format and size']],
  },
  {
    server: 'llama.cpp',
    request: 'A last message of the assistant',
    does: 'It is continued; a whole reply has it once more in front of what is new, a stream does not',
    makes: 'It is taken off whole replies (quirk `prefill: repeated`, which the preset sets)',
    tests: [['gateway/formats/real-server-forms', 'what the caller has begun stands once in a whole reply']],
  },
  {
    server: 'llama.cpp, Ollama, transformers serve',
    request: 'An earlier call whose arguments are an empty text',
    does: '500 (llama.cpp, transformers serve) or 400 (Ollama)',
    makes: '`{}` goes out in its place',
    tests: [['gateway/formats/real-server-words', 'no arguments of earlier calls are the empty object, which no server refuses']],
  },
  {
    server: 'vLLM',
    request: 'A stop text, in the format of Chat Completions',
    does: '`stop_reason` beside `finish_reason: stop` names it',
    makes: '`stop_sequence` for callers of Messages',
    tests: [['gateway/formats/real-server-words', 'the stop text that vLLM names beside the end reaches callers of Messages']],
  },
  {
    server: 'vLLM',
    request: 'A tool call, streamed',
    does: 'Two line ends stand as text between thought and call',
    makes: 'No block of white space for callers of Messages: Anthropic refuses one that comes back',
    tests: [['gateway/formats/real-server-words', 'a text of white space between a thought and a call becomes no block']],
  },
  {
    server: 'vLLM, llama.cpp',
    request: '`/v1/messages`, streamed',
    does: '`message_start` has the tokens of the prompt',
    makes: 'So has that of the gateway',
    tests: [
      ['gateway/formats/real-server-words', 'message_start has the tokens of the prompt where the provider has counted them by then'],
    ],
  },
  {
    server: 'vLLM, transformers serve',
    request: 'Tools at `/v1/responses`',
    does: '`strict` is printed into the prompt, 13 to 15 tokens for each tool',
    makes: 'The quirk `strict: stated` adds none; at Chat Completions the `strict: false` of callers of Responses is left out',
    tests: [
      ['gateway/formats/real-server-words', 'functions go without strict to servers that print it into the prompt'],
      ['servers-real/transformers', 'conversations over openai-responses'],
    ],
  },
  {
    server: 'llama.cpp, Ollama',
    request: 'A schema of the answer at `/v1/responses` or `/v1/messages`',
    does: 'It is ignored',
    makes:
      'The quirk `json_schema: checked` has the answer checked and the verdict recorded; `words` puts it among the instructions as well',
    tests: [['gateway/formats/real-server-words', 'the answer is checked against a schema that the server may ignore']],
  },
  {
    server: 'transformers serve',
    request: 'Thoughts and tool calls',
    does: 'They stay text unless the tokenizer has a `response_template`, or the model is one of Qwen or Gemma 4; then its streams keep the line ends around a thought, and its whole replies do not',
    makes: 'The same text; or thoughts and calls, and the same line ends',
    tests: [
      ['servers-real/transformers', 'conversations over openai-chat'],
      ['servers-real/transformers-life', 'two turns with a tool'],
    ],
  },
  {
    server: 'transformers serve',
    request: '`developer` messages at `/v1/responses`',
    does: '500 in plain text',
    makes: 'The quirk `developer: system` of `openai-responses`',
    tests: [['servers-real/transformers', 'conversations over openai-responses']],
  },
  {
    server: 'llama.cpp',
    request: '`dimensions` of embeddings',
    does: 'It is ignored',
    makes: '400 that names the field, without a failure of the endpoint',
    tests: [['servers-real/vectors', 'dimensions, which the server ignores']],
  },
  {
    server: 'llama.cpp',
    request: 'An embedding of more than its batch',
    does: '500 `input is too large to process`',
    makes: '400, without a failure of the endpoint',
    tests: [['servers-real/vectors', 'more than the model reads']],
  },
  {
    server: 'infinity',
    request: '`/rerank`',
    does: 'Scores by document',
    makes: 'The pass-through has the same scores',
    tests: [['servers-real/vectors', 'the scores are the server’s own']],
  },
  {
    server: 'infinity',
    request: '`dimensions` of embeddings',
    does: 'Vectors are cut, and more than there are is a 400',
    makes: 'The same, and 400',
    tests: [['servers-real/vectors', 'dimensions, which the server cuts to']],
  },
  {
    server: 'llama.cpp',
    request: '`/input_tokens` below the path of generations, with the same body',
    does: 'The tokens of the prompt, by its own template',
    makes:
      'The count of `count_tokens` (quirk `count_tokens: input_tokens`, which the preset sets); an estimate where the version has none',
    tests: [['servers-real/llama-cpp', 'the tokens of a prompt are counted by the server']],
  },
  {
    server: 'vLLM',
    request: '`/v1/messages`',
    does: 'Thoughts are signed with a random word that nothing looks at',
    makes: 'The same word',
    tests: [['servers-real/vllm', 'conversations over anthropic']],
  },
  {
    server: 'vLLM',
    request: '`max_tokens` above the context',
    does: '400 that names the field',
    makes: 'The cap is lowered to what is left',
    tests: [['servers-real/vllm', 'conversations over openai-chat']],
  },
]
