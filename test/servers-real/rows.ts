/** What real servers do and what headgate makes of it: the rows of docs/behaviour/model-servers.md, which `npm run generate` writes from here. */

export interface Row {
  readonly server: string
  readonly request: string
  readonly does: string
  readonly makes: string
  /** Files of tests that hold it, below `test/`. */
  readonly test: string
}

export const ROWS: readonly Row[] = [
  {
    server: 'llama.cpp',
    request: '`/v1/responses`, streamed',
    does: 'Events have `item_id` alone: no `output_index`, `content_index`, `sequence_number`; all items end behind the last one',
    makes: 'Items are found by their ids; callers of Responses get the numbers',
    test: '`gateway/real-server-forms`, `servers-real/llama-cpp`',
  },
  {
    server: 'llama.cpp',
    request: '`/v1/responses` with a system message among the items',
    does: 'Each message becomes a list of parts, and a template that renders no list for a system message loses it',
    makes: 'The first system message of callers of other formats goes out as `instructions`',
    test: '`servers-real/llama-cpp`',
  },
  {
    server: 'llama.cpp',
    request: '`/v1/messages`, streamed',
    does: 'Blocks end in a row behind the last one; a `tool_use` block starts without `input`',
    makes: 'Each block ends before the next one starts, with an `input`',
    test: '`gateway/real-server-forms`, `servers-real/llama-cpp`',
  },
  {
    server: 'llama.cpp',
    request: '`max_tokens` above the context',
    does: 'It is taken; the output ends with the context',
    makes: 'The cap is lowered to what is left ([decision 43](../decisions/0043-near-the-end-of-a-context.md))',
    test: '`servers-real/llama-cpp`',
  },
  {
    server: 'llama.cpp',
    request: 'More requests than slots, streamed',
    does: 'They wait without limit, and without a head',
    makes: 'Presets of local servers wait ten minutes for the first byte',
    test: '`servers-real/llama-cpp-life`',
  },
  {
    server: 'llama.cpp',
    request: 'A caller leaves',
    does: 'The slot is free at once if the connection closes',
    makes: 'The connection to the server is closed, of whole replies too',
    test: '`servers-real/llama-cpp-life`',
  },
  {
    server: 'llama.cpp, vLLM',
    request: 'Started without an alias',
    does: 'The id of the model is the path of its file or folder',
    makes: 'The slug is the path without its first slash',
    test: '`gateway/unlike-lists`, `servers-real/llama-cpp-life`',
  },
  {
    server: 'llama.cpp',
    request: '`GET /v1/models`',
    does: '`created` is the time of the request',
    makes: 'No news: the catalogue stays as it is',
    test: '`gateway/unlike-lists`',
  },
  {
    server: 'vLLM, llama.cpp',
    request: '`GET /v1/models` over the dialect `anthropic`',
    does: 'The list has `max_model_len` or `meta.n_ctx`',
    makes: 'Both are read',
    test: '`gateway/unlike-lists`',
  },
  {
    server: 'infinity',
    request: '`GET /v1/models`',
    does: '`capabilities` says `embed` or `rerank`',
    makes: 'The kind of the model; a model without it generates and embeds',
    test: '`gateway/unlike-lists`',
  },
  {
    server: 'Ollama',
    request: '`/v1/messages` with thinking and a tool',
    does: 'Thinking has no `signature`; thought and call both have the index 0',
    makes: '`signature: ""`, blocks numbered in order, taken back in the next turn',
    test: '`gateway/real-server-forms` (frames written by hand)',
  },
  {
    server: 'Ollama',
    request: '`reasoning_effort: "medium"` at a model other than gpt-oss',
    does: '400 `think value "medium" is not supported for this model`',
    makes: 'One more call without the effort, which is then left out for an hour',
    test: '`gateway/real-server-forms` (reply written by hand)',
  },
  {
    server: 'Ollama',
    request: '`developer` messages at `/v1/responses`',
    does: 'They are left out without an error',
    makes: 'The quirk `developer: system` of `openai-responses`',
    test: '`gateway/real-server-forms`',
  },
  {
    server: 'vLLM',
    request: '`thinking` of Qwen 3 at `/v1/messages`',
    does: 'It is on unless `thinking.type` is `disabled`',
    makes: 'Effort `none` sends `disabled` where nothing is declared of the model',
    test: '`dialects/messages/upstream-request`',
  },
  {
    server: 'all',
    request: 'Thoughts without a signature, replayed over another wire',
    does: 'The server would take them',
    makes: 'They are sent to servers with the quirk `unsigned_reasoning`, and left out at others',
    test: '`servers-real/llama-cpp-life`',
  },
  {
    server: 'all',
    request: 'Half a character in a text',
    does: '400 (llama.cpp, vLLM) or 500 (transformers serve, infinity)',
    makes: 'U+FFFD goes out in its place',
    test: '`gateway/real-server-words`',
  },
  {
    server: 'vLLM',
    request: 'A stop text, in the format of Chat Completions',
    does: '`stop_reason` beside `finish_reason: stop` names it',
    makes: '`stop_sequence` for callers of Messages',
    test: '`gateway/real-server-words`',
  },
  {
    server: 'vLLM',
    request: 'A tool call, streamed',
    does: 'Two line ends stand as text between thought and call',
    makes: 'No block of white space for callers of Messages: Anthropic refuses one that comes back',
    test: '`gateway/real-server-words`',
  },
  {
    server: 'vLLM, llama.cpp',
    request: '`/v1/messages`, streamed',
    does: '`message_start` has the tokens of the prompt',
    makes: 'So has that of the gateway',
    test: '`gateway/real-server-words`',
  },
  {
    server: 'vLLM, transformers serve',
    request: 'Tools at `/v1/responses`',
    does: '`strict` is printed into the prompt, 13 to 15 tokens for each tool',
    makes: 'The quirk `strict: stated` adds none; at Chat Completions the `strict: false` of callers of Responses is left out',
    test: '`gateway/real-server-words`, `servers-real/transformers`',
  },
  {
    server: 'llama.cpp, Ollama',
    request: 'A schema of the answer at `/v1/responses` or `/v1/messages`',
    does: 'It is ignored',
    makes:
      'The quirk `json_schema: checked` has the answer checked and the verdict recorded; `words` puts it among the instructions as well',
    test: '`gateway/real-server-words`',
  },
  {
    server: 'transformers serve',
    request: 'Thoughts and tool calls',
    does: 'They stay text unless the tokenizer has a template of replies',
    makes: 'The same text',
    test: '`servers-real/transformers`',
  },
  {
    server: 'transformers serve',
    request: '`developer` messages at `/v1/responses`',
    does: '500 in plain text',
    makes: 'The quirk `developer: system` of `openai-responses`',
    test: '`servers-real/transformers`',
  },
  {
    server: 'llama.cpp',
    request: '`dimensions` of embeddings',
    does: 'It is ignored',
    makes: '400 that names the field, without a failure of the endpoint',
    test: '`servers-real/vectors`',
  },
  {
    server: 'llama.cpp',
    request: 'An embedding of more than its batch',
    does: '500 `input is too large to process`',
    makes: '400, without a failure of the endpoint',
    test: '`servers-real/vectors`',
  },
  {
    server: 'infinity',
    request: '`/rerank`',
    does: 'Scores by document',
    makes: 'The pass-through has the same scores',
    test: '`servers-real/vectors`',
  },
  {
    server: 'infinity',
    request: '`dimensions` of embeddings',
    does: 'Vectors are cut, and more than there are is a 400',
    makes: 'The same, and 400',
    test: '`servers-real/vectors`',
  },
  {
    server: 'llama.cpp',
    request: '`/input_tokens` below the path of generations, with the same body',
    does: 'The tokens of the prompt, by its own template',
    makes:
      'The count of `count_tokens`, and of a prompt near the end of the context (quirk `count_tokens: input_tokens`, which the preset sets); an estimate where the version has none',
    test: '`servers-real/llama-cpp`, `gateway/counts-near-end`',
  },
  {
    server: 'vLLM',
    request: '`/tokenize` beside `/v1`, with `messages`, `tools` and `chat_template_kwargs`',
    does: 'The tokens of the prompt, by its own template, all of them listed',
    makes:
      'The count of `count_tokens`, and of a prompt near the end of the context (quirk `count_tokens: tokenize`, which the preset sets)',
    test: '`servers-real/vllm`, `gateway/counts-near-end`',
  },
  {
    server: 'vLLM',
    request: '`/v1/messages`',
    does: 'Thoughts are signed with a random word that nothing looks at',
    makes: 'The same word',
    test: '`servers-real/vllm`',
  },
  {
    server: 'vLLM',
    request: '`max_tokens` above the context',
    does: '400 that names the field',
    makes: 'The cap is lowered to what is left',
    test: '`servers-real/vllm`',
  },
  {
    server: 'vLLM, llama.cpp',
    request: '`stream_options.continuous_usage_stats`, `timings_per_token`',
    does: 'Each chunk of a stream has the counts so far',
    makes:
      'An answer that its caller leaves is charged by them, and the call is ended at once (quirk `running_usage`, which the presets set); callers do not see them',
    test: '`gateway/running-usage`, `servers-real/llama-cpp`',
  },
  {
    server: 'llama.cpp, vLLM, Ollama, infinity',
    request: 'Embeddings at a server of texts, texts at a server of embeddings',
    does: '400, 404, 500 or 501, each with its own sentence',
    makes: 'A model whose kind is not known is refused for that without a call for ten minutes, and routing does not choose it',
    test: '`gateway/unknown-kinds`, `servers-real/llama-cpp`, `servers-real/vectors`',
  },
]
