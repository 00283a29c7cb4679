// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold variables of their own
/** Broken files, each with the problems that it must give. `GOOD` is the file that most of them spoil in one place. */

export const GOOD = `server: { host: 127.0.0.1, port: 8080, max_body: 32MB }
auth:
  keys:
    - { name: app, key: "sk-app-secret-value", limit: "10.00" }
providers:
  openai: { dialect: openai-responses, base_url: "https://api.openai.com/v1", key: "sk-upstream-secret" }
  sim: { dialect: sim }
models:
  openai/gpt-5-mini:
    context: 400000
    max_output: 128000
    endpoints:
      - { provider: openai, model: gpt-5-mini, price: { prompt: "0.25", completion: "2.00" } }
  sim/echo:
    endpoints: [ { provider: sim, model: echo } ]
aliases: { app/default: openai/gpt-5-mini }
default_model: app/default
guardrails:
  - name: names
    scope: { keys: [ app ] }
    content_filters: [ { pattern: "forbidden-[0-9]{4}", action: block } ]
`

export interface Broken {
  name: string
  /** A whole file, or a replacement in the good one. */
  text?: string
  replace?: [from: string, to: string]
  env?: Record<string, string>
  /** `line:column: …`, in order. */
  problems: string[]
}

const spoil = (name: string, from: string, to: string, ...problems: string[]): Broken => ({ name, replace: [from, to], problems })
const append = (name: string, more: string, ...problems: string[]): Broken => ({ name, text: `${GOOD}${more}\n`, problems })
const whole = (name: string, text: string, ...problems: string[]): Broken => ({ name, text, problems })

const bomb = (): string => {
  const lines = ['a0: &a0 [ x, x, x, x, x, x, x, x, x, x ]']
  for (let level = 1; level < 9; level++)
    lines.push(
      `a${level}: &a${level} [ ${Array(10)
        .fill(`*a${level - 1}`)
        .join(', ')} ]`,
    )
  return `${lines.join('\n')}\n`
}

export const SYNTAX: Broken[] = [
  whole('an empty file', '', '1:1: the file is empty, expected a configuration'),
  whole('only a comment', '# nothing\n', '1:1: the file is empty, expected a configuration'),
  whole('a tab as indentation', 'server:\n\tport: 1\n', '2:1: a tab, expected spaces'),
  whole(
    'a bracket that never closes',
    'server: { port: 1\n',
    '2:1: bad indentation or a bracket that is not closed, expected entries of one level in one column',
  ),
  whole(
    'a quote that never closes',
    'store: { url: "sqlite:x }\n',
    '2:1: a character is missing, expected a closing quote or bracket, a comma, or a space after a colon',
  ),
  append('a key twice', 'server: { port: 9 }', '22:1: this key occurs twice, expected it once'),
  whole(
    'bad indentation',
    'server:\n  port: 1\n host: x\n',
    '3:1: bad indentation or a bracket that is not closed, expected entries of one level in one column',
  ),
  whole('two documents', 'server: { port: 1 }\n---\nserver: { port: 2 }\n', '2:1: a second document, expected one'),
  whole('an unknown anchor', 'server: *nothing\n', '1:9: server: an alias without an anchor before it'),
  whole('an alias that contains itself', 'models: &loop { sim/echo: *loop }\n', '1:27: models["sim/echo"]: an alias that contains itself'),
  whole('a bomb of aliases', bomb(), '1:35: a4[7][0][7][0][8]: more than 100000 values once aliases are expanded, expected a smaller file'),
  whole(
    'nesting without end',
    `server: ${'['.repeat(100)}${']'.repeat(100)}\n`,
    '1:49: server[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested more than 40 levels deep, expected a smaller file',
  ),
  whole(
    'nesting that would overflow the stack',
    `server: ${'['.repeat(200000)}\n`,
    '1:1008: more than 1000 open brackets, expected a flatter file',
  ),
  whole('a list as a key', '? [ a, b ]\n: 1\n', '1:3: expected a key that is plain text'),
  whole('an unknown tag', 'server: !!js/function "x"\n', '1:9: an unknown tag, expected plain YAML'),
  whole('a list instead of a mapping', '- server\n', '1:1: found a list, expected a mapping'),
  whole('plain text', 'just text\n', '1:1: found text, expected a mapping'),
  whole('a bad escape', 'store: { url: "\\q" }\n', '1:16: bad escape in a quoted text, expected a backslash only before what YAML escapes'),
  whole('a reserved character', 'store: { url: @here }\n', '1:15: text that begins with a reserved character, expected quotes around it'),
]

export const SHAPE: Broken[] = [
  spoil('an unknown key with a near name', 'max_body', 'max_bdoy', '1:40: server.max_bdoy: unknown key, did you mean "max_body"?'),
  append('an unknown top-level key', 'provders: {}', '22:1: provders: unknown key, did you mean "providers"?'),
  spoil(
    'an unknown key without a near name',
    'max_body: 32MB',
    'wibble: 1',
    '1:40: server.wibble: unknown key, expected one of: host, port, tls, socket, socket_mode, public_url, cors, max_body, body_memory, overload, max_headers, json_depth, drain, deadline, keep_alive, header_timeout, body_timeout, trusted_proxies, proxy_protocol, auth_failures, responses_websocket, cost_header, silence',
  ),
  spoil('text for a number', 'port: 8080', 'port: "8080"', '1:34: server.port: found text, expected a whole number from 0 to 65535'),
  spoil('a number out of range', 'port: 8080', 'port: 70000', '1:34: server.port: found 70000, expected a whole number from 0 to 65535'),
  spoil(
    'a fraction for a whole number',
    'port: 8080',
    'port: 1.5',
    '1:34: server.port: found 1.5, expected a whole number from 0 to 65535',
  ),
  spoil('a size without unit', '32MB', '32', '1:50: server.max_body: found 32, expected a size such as 512KB or 32MB'),
  spoil(
    'a size with an unknown unit',
    '32MB',
    '32MiB',
    '1:50: server.max_body: "32MiB" does not fit, expected a size such as 512KB or 32MB',
  ),
  spoil('a size of nothing', '32MB', '0MB', '1:50: server.max_body: expected between 1B and 1GB'),
  spoil(
    'a duration without unit',
    'max_body: 32MB',
    'drain: "30"',
    '1:47: server.drain: "30" does not fit, expected a duration such as 250ms, 5s or 10m',
  ),
  spoil('a duration that is too long', 'max_body: 32MB', 'drain: 999999h', '1:47: server.drain: expected at most 24h'),
  spoil(
    'money as a number',
    '"10.00"',
    '10.00',
    '4:55: auth.keys[0].limit: found 10, expected an amount of USD as a decimal in quotes, such as "10.00"',
  ),
  spoil(
    'money with a sign',
    '"10.00"',
    '"$10"',
    '4:55: auth.keys[0].limit: "$10" does not fit, expected an amount of USD as a decimal in quotes, such as "10.00"',
  ),
  spoil(
    'money finer than a nano-dollar',
    '"10.00"',
    '"0.0000000001"',
    '4:55: auth.keys[0].limit: expected at most 9 decimals and at most 9000000 USD',
  ),
  spoil(
    'a price as a number',
    'prompt: "0.25"',
    'prompt: 0.25',
    '13:65: models["openai/gpt-5-mini"].endpoints[0].price.prompt: found 0.25, expected a price in USD per million tokens as a decimal in quotes, such as "0.25"',
  ),
  spoil(
    'a price without completion',
    ', completion: "2.00"',
    '',
    '13:48: models["openai/gpt-5-mini"].endpoints[0].price: "completion" is missing, expected a price in USD per million tokens as a decimal in quotes, such as "0.25"',
  ),
  spoil(
    'a price per request that cannot be counted exactly',
    'completion: "2.00" }',
    'completion: "2.00", request: "9000000.000001" }',
    '13:102: models["openai/gpt-5-mini"].endpoints[0].price.request: expected at most 18 decimals and at most 9000000 USD',
  ),
  spoil(
    'a price in words',
    'price: { prompt: "0.25", completion: "2.00" }',
    'price: cheap',
    '13:55: models["openai/gpt-5-mini"].endpoints[0].price: "cheap" does not fit, expected free, snapshot, or an object of prices',
  ),
  spoil('an unknown dialect', 'dialect: sim', 'dialect: smi', '7:19: providers.sim.dialect: unknown value "smi", did you mean "sim"?'),
  spoil(
    'a dialect of a later version',
    'dialect: openai-responses',
    'dialect: bedrock',
    '6:22: providers.openai.dialect: "bedrock" is not available in this version',
  ),
  spoil(
    'no dialect',
    'sim: { dialect: sim }',
    'sim: { }',
    '7:3: providers.sim: "dialect" is missing, expected one of: openai-chat, openai-responses, anthropic, gemini, bedrock-converse, bedrock-anthropic, sim, cohere, voyage',
  ),
  spoil('nothing where a mapping belongs', 'sim: { dialect: sim }', 'sim:', '7:7: providers.sim: found nothing, expected a mapping'),
  spoil(
    'a list where a mapping belongs',
    'server: { host: 127.0.0.1, port: 8080, max_body: 32MB }',
    'server: [ 1 ]',
    '1:9: server: found a list, expected a mapping',
  ),
  spoil(
    'a mapping where a list belongs',
    '[ { provider: sim, model: echo } ]',
    '{ provider: sim }',
    '15:16: models["sim/echo"].endpoints: found a mapping, expected a list',
  ),
  spoil('no endpoints', '[ { provider: sim, model: echo } ]', '[ ]', '15:16: models["sim/echo"].endpoints: expected at least 1 entry'),
  spoil(
    'a model with a blank in its name',
    'sim/echo:',
    'sim echo:',
    '14:3: models["sim echo"]: expected a model slug such as author/name, or a bare name',
  ),
  spoil(
    'a provider with a bad name',
    'sim: { dialect',
    '"si m": { dialect',
    '7:3: providers["si m"]: expected a name of up to 64 letters, digits, dots, dashes and underscores',
    '15:30: models["sim/echo"].endpoints[0].provider: no such provider, expected one of: openai',
  ),
  spoil(
    'a short secret, not shown',
    '"sk-app-secret-value"',
    '"abc def"',
    '4:25: auth.keys[0].key: expected at least 8 ASCII characters without spaces',
  ),
  spoil('yes for a flag', 'limit: "10.00"', 'management: yes', '4:60: auth.keys[0].management: found text, expected true or false'),
  spoil(
    'a day that does not exist',
    'limit: "10.00"',
    'expires_at: "2026-02-31"',
    '4:60: auth.keys[0].expires_at: expected a time such as 2027-01-31T00:00:00Z or a day such as 2027-01-31',
  ),
  append('providers of preferences in one text', 'provider: { only: openai }', '22:19: provider.only: found text, expected a list'),
  append(
    'an unknown sort',
    'provider: { sort: cheapest }',
    '22:19: provider.sort: "cheapest" does not fit, expected one of price, throughput, latency, exacto, least_busy, or an object of by and partition',
  ),
  append(
    'a bad cutoff',
    'provider: { preferred_max_latency: fast }',
    '22:36: provider.preferred_max_latency: "fast" does not fit, expected a number, or an object of p50, p75, p90 and p99',
  ),
  append(
    'a brand of two words',
    'brand: { word: "my router" }',
    '22:16: brand.word: "my router" does not fit, expected a lower-case word of letters and digits',
  ),
]

export const CLUSTER: Broken[] = [
  append(
    'a store of another database',
    'store: { url: "mysql://user:secret@db/headgate" }',
    '22:15: store.url: expected sqlite: and a path, a postgres:// address, or memory:',
  ),
  append(
    'shared by something else',
    'shared: { url: "http://user:secret@cache" }',
    '22:16: shared.url: expected a redis:// or rediss:// address',
  ),
  append('a retention shorter than a window', 'store: { retention: 31d }', '22:21: store.retention: expected at least 32d'),
  append(
    'a retention without a unit',
    'store: { retention: "90" }',
    '22:21: store.retention: "90" does not fit, expected a number of days or hours such as 90d or 24h',
  ),
  append(
    'a size without a unit',
    'store: { files: { max_file: 5 } }',
    '22:29: store.files.max_file: found 5, expected a size such as 512KB or 32MB',
  ),
  append('a grace of an age', 'store: { lost_grace: 99999d }', '22:22: store.lost_grace: expected at most 3660d'),
  append('no tokens a minute', 'limits: { tokens: 0 }', '22:19: limits.tokens: found 0, expected a whole number from 1 to 1000000000'),
]

export const LATER: Broken[] = [
  append('prompts', 'prompts: []', '22:10: prompts: found a list, expected a mapping'),
  append('a prompt without messages', 'prompts: { greet: {} }', '22:12: prompts.greet: "messages" is missing, expected a list'),
  append(
    'a plugin of a later version',
    'plugins: { order: [ auto-beta-router ] }',
    '22:21: plugins.order[0]: "auto-beta-router" is not available in this version',
  ),
  append(
    'settings of such a plugin',
    'plugins: { defaults: { auto-beta-router: { enabled: true } } }',
    '22:24: plugins.defaults.auto-beta-router: not available in this version',
  ),
  spoil(
    'an output guardrail that restores',
    'scope: { keys: [ app ] }',
    'direction: output\n    restore: true',
    '21:5: guardrails[0].restore: only redactions in requests can be restored, expected direction input or both',
  ),
  spoil(
    'a guardrail for members',
    'scope: { keys: [ app ] }',
    'scope: { keys: [ app ], members: [ x ] }',
    '20:29: guardrails[0].scope.members: not available in this version',
  ),
  spoil(
    'a webhook without an address',
    'scope: { keys: [ app ] }',
    'engine: { type: webhook, model: m }',
    '20:30: guardrails[0].engine.model: this is a setting of moderation, expected no such key',
    '20:13: guardrails[0].engine: webhook without an address, expected url',
  ),
  spoil(
    'moderation by a classifier without its model',
    'scope: { keys: [ app ] }',
    'engine: { type: moderation, engine: classifier, url: "https://guard.example", thresholds: { S1: 0.5 } }',
    '20:13: guardrails[0].engine: moderation by classifier needs model, expected it as well',
    '20:83: guardrails[0].engine.thresholds: moderation by classifier has no use for it, expected no such key',
  ),
  spoil(
    'moderation at OpenAI without a key',
    'scope: { keys: [ app ] }',
    'engine: { type: moderation }',
    '20:13: guardrails[0].engine: moderation by openai needs key, expected it as well',
  ),
  spoil(
    'moderation without words',
    'scope: { keys: [ app ] }',
    'engine: { type: moderation, engine: lexicon, language: en }',
    '20:50: guardrails[0].engine.language: this is a setting of presidio, expected no such key',
    '20:13: guardrails[0].engine: moderation by lexicon needs lexicon, expected it as well',
  ),
  append(
    'moderation of every request by nobody',
    'plugins: { defaults: { moderation: { key: "${NO_SUCH_KEY?}", enabled: true } } }',
    '22:43: plugins.defaults.moderation.key: this variable is not set, and every request is to be moderated, expected the key',
  ),
  spoil(
    'a model that ranks',
    'context: 400000',
    'kind: rerank',
    '10:11: models["openai/gpt-5-mini"].kind: "rerank" is not available in this version',
  ),
]

/** In the good file with one preset behind it, on line 22. */
const preset = (name: string, fields: string, ...problems: string[]): Broken => append(name, `presets: { p: { ${fields} } }`, ...problems)

export const PRESETS: Broken[] = [
  append('a list of presets', 'presets: []', '22:10: presets: found a list, expected a mapping'),
  append(
    'a preset with a bad name',
    'presets: { My_Preset: {} }',
    '22:12: presets.My_Preset: expected a name of small letters, digits and hyphens',
  ),
  preset(
    'an unknown model in a preset',
    'model: openai/gpt-6-mini',
    '22:24: presets.p.model: no such model, did you mean "openai/gpt-5-mini"?',
  ),
  preset(
    'an unknown model among the fallbacks of a preset',
    'models: [ sim/echo, sim/ehco ]',
    '22:37: presets.p.models[1]: no such model, did you mean "sim/echo"?',
  ),
  preset('a pattern for the model of a preset', 'model: "sim/*"', '22:24: presets.p.model: expected a slug without *'),
  preset(
    'a preset of a preset',
    'model: "@preset/other"',
    '22:24: presets.p.model: "@preset/other" does not fit, expected a model slug such as author/name, or a bare name',
  ),
  preset(
    'an unknown provider in a preset',
    'provider: { only: [ opneai ] }',
    '22:37: presets.p.provider.only[0]: no such provider, did you mean "openai"?',
  ),
  preset(
    'an unknown parameter in a preset',
    'parameters: { temprature: 1 }',
    '22:31: presets.p.parameters.temprature: unknown key, did you mean "temperature"?',
  ),
  preset(
    'a parameter out of range',
    'parameters: { temperature: 3 }',
    '22:44: presets.p.parameters.temperature: found 3, expected a number from 0 to 2',
  ),
  preset(
    'a cap that no request may have',
    'parameters: { max_tokens: 2147483648 }',
    '22:43: presets.p.parameters.max_tokens: found 2147483648, expected a whole number from 1 to 2147483647',
  ),
  preset(
    'an unknown effort',
    'parameters: { reasoning: { effort: hihg } }',
    '22:52: presets.p.parameters.reasoning.effort: unknown value "hihg", did you mean "high"?',
  ),
  preset(
    'an effort of what is switched off',
    'parameters: { reasoning: { effort: high, enabled: false } }',
    '22:67: presets.p.parameters.reasoning.enabled: contradicts the effort, expected true or nothing',
  ),
  spoil(
    'the newest of a family that is not there',
    'app/default: openai/gpt-5-mini',
    'app/default: "~openai/gpt-nano-latest"',
    '16:25: aliases["app/default"]: no such model, expected one of: openai/gpt-5-mini, sim/echo',
  ),
  spoil(
    'a router of another brand',
    'app/default: openai/gpt-5-mini',
    'app/default: "roter/auto"',
    '16:25: aliases["app/default"]: no such model, expected one of: openai/gpt-5-mini, sim/echo',
  ),
  append(
    'a trade-off out of range',
    'plugins: { defaults: { auto-router: { cost_quality_tradeoff: 11 } } }',
    '22:62: plugins.defaults.auto-router.cost_quality_tradeoff: found 11, expected a whole number from 0 to 10',
  ),
  append(
    'a coding score out of range',
    'plugins: { defaults: { pareto-router: { min_coding_score: 1.1 } } }',
    '22:59: plugins.defaults.pareto-router.min_coding_score: found 1.1, expected a number from 0 to 1',
  ),
  spoil(
    'a score out of range',
    'model: echo',
    'model: echo, scores: { coding: 1.1 }',
    '15:66: models["sim/echo"].endpoints[0].scores.coding: found 1.1, expected a number from 0 to 1',
  ),
  spoil(
    'a country that is none',
    'dialect: sim',
    'dialect: sim, about: { headquarters: Germany }',
    '7:47: providers.sim.about.headquarters: "Germany" does not fit, expected two capital letters, such as DE',
  ),
]

export const RULES: Broken[] = [
  spoil(
    'the output of embeddings without their kind',
    'sim/echo:',
    'sim/echo:\n    output: [ embeddings ]',
    '15:13: models["sim/echo"].output: this is the output of embeddings, expected `kind: embedding`',
  ),
  spoil(
    'another output of embeddings',
    'sim/echo:',
    'sim/echo:\n    kind: embedding\n    output: [ text ]',
    '16:13: models["sim/echo"].output: the kind embedding writes embeddings, expected [ embeddings ]',
  ),
  spoil(
    'an override without a condition',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { prompt: "1.00" } ] }',
    '13:106: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0]: an override without a condition, expected min_prompt_tokens, from, days, or utc_start and utc_end',
  ),
  spoil(
    'exceptions from no days',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { from: "2027-01-01", not_on: ["2027-01-01"], prompt: "1.00" } ] }',
    '13:128: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].not_on: expected days, or utc_start and utc_end, as well',
  ),
  spoil(
    'a day of no week',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { days: [monday], prompt: "1.00" } ] }',
    '13:115: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].days[0]: unknown value "monday", expected one of: sun, mon, tue, wed, thu, fri, sat',
  ),
  spoil(
    'an override without a price',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { min_prompt_tokens: 5 } ] }',
    '13:106: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0]: an override without a price, expected one such as prompt',
  ),
  spoil(
    'half a time window',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { utc_start: "0100", prompt: "1.00" } ] }',
    '13:108: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].utc_start: expected utc_end as well',
  ),
  spoil(
    'a time window without a length',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { utc_start: "0100", utc_end: "0100", prompt: "1.00" } ] }',
    '13:136: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].utc_end: expected another time than utc_start',
  ),
  spoil(
    'a time of day that is a number',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { utc_start: 100, utc_end: "0200", prompt: "1.00" } ] }',
    '13:119: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].utc_start: found 100, expected a time of day in UTC as four digits in quotes, such as "0130"',
  ),
  spoil(
    'a time of day beyond the day',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { utc_start: "0160", utc_end: "2400", prompt: "1.00" } ] }',
    '13:119: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].utc_start: "0160" does not fit, expected a time of day in UTC as four digits in quotes, such as "0130"',
    '13:136: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].utc_end: "2400" does not fit, expected a time of day in UTC as four digits in quotes, such as "0130"',
  ),
  spoil(
    'an override with a price of another unit',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { min_prompt_tokens: 5, request: "1.00" } ] }',
    '13:130: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].request: unknown key, expected one of: min_prompt_tokens, utc_start, utc_end, days, not_on, from, prompt, completion, cached, cache_write, cache_write_1h, reasoning, image_output, audio_output, audio, image_token',
  ),
  spoil(
    'an override with a price that is no decimal',
    'completion: "2.00" }',
    'completion: "2.00", overrides: [ { min_prompt_tokens: 5, prompt: "1e3" } ] }',
    '13:138: models["openai/gpt-5-mini"].endpoints[0].price.overrides[0].prompt: "1e3" does not fit, expected a price in USD per million tokens as a decimal in quotes, such as "0.25"',
  ),
  spoil(
    'an endpoint at an unknown provider',
    'provider: sim,',
    'provider: sin,',
    '15:30: models["sim/echo"].endpoints[0].provider: no such provider, did you mean "sim"?',
    '7:3: providers.sim: this provider is not used, expected a model with an endpoint there, `discover: true` or `pass_through`',
  ),
  spoil(
    'a provider that nobody uses',
    '  sim/echo:\n    endpoints: [ { provider: sim, model: echo } ]\n',
    '',
    '7:3: providers.sim: this provider is not used, expected a model with an endpoint there, `discover: true` or `pass_through`',
  ),
  spoil(
    'a base URL that is none',
    'https://api.openai.com/v1',
    'api.openai.com',
    '6:50: providers.openai.base_url: expected an http or https URL',
  ),
  spoil(
    'a base URL of another protocol',
    'https://api.openai.com/v1',
    'ftp://api.openai.com/v1',
    '6:50: providers.openai.base_url: expected an http or https URL',
  ),
  spoil(
    'a base URL with a password, not shown',
    'https://api.openai.com/v1',
    'https://me:hunter2@api.openai.com/v1',
    '6:50: providers.openai.base_url: expected a URL without credentials',
  ),
  spoil(
    'a base URL with a query',
    'https://api.openai.com/v1',
    'https://api.openai.com/v1?x=1',
    '6:50: providers.openai.base_url: expected a URL without query or fragment',
  ),
  spoil(
    'no base URL',
    ' base_url: "https://api.openai.com/v1",',
    '',
    '6:3: providers.openai: "base_url" is missing, expected the address of the provider',
  ),
  spoil(
    'a base URL for the simulator',
    'dialect: sim',
    'dialect: sim, base_url: "http://127.0.0.1"',
    '7:24: providers.sim.base_url: the dialect sim makes no calls, expected no such key',
  ),
  spoil(
    'a quirk of another dialect',
    'key: "sk-upstream-secret"',
    'quirks: { efforts: [ low ], max_tokens_field: max_tokens }',
    '6:107: providers.openai.quirks.max_tokens_field: the dialect openai-responses does not read this quirk, expected one of: reasoning, efforts, unsigned_reasoning, prefill, min_output_tokens, strict, developer, json_schema, closed_schemas, explicit_caching, user_length, safety_identifier_length, web_search, compaction, external_web_access, native_tools, functions_only, media_urls, service_tiers, body, max_batch, max_batch_tokens, embeddings_path, input_type, input_parts',
  ),
  spoil(
    'a quirk of an endpoint whose dialect does not read it',
    'model: echo',
    'model: echo, quirks: { body: { drop: [ seed ] }, max_batch: 3 }',
    '15:58: models["sim/echo"].endpoints[0].quirks.body: the dialect sim does not read this quirk, expected one of: max_batch, max_batch_tokens',
  ),
  spoil(
    'a value of a quirk that another dialect knows',
    'dialect: openai-responses, base_url: "https://api.openai.com/v1"',
    'dialect: anthropic, base_url: "https://api.anthropic.com", quirks: { thinking: level }',
    '6:92: providers.openai.quirks.thinking: the dialect anthropic does not know "level", expected one of: budget, adaptive',
  ),
  spoil(
    'faults of a real provider',
    'key: "sk-upstream-secret"',
    'faults: { status: 500 }',
    '6:79: providers.openai.faults: faults are for the dialect sim, expected none here',
  ),
  spoil(
    'a header of the connection',
    'key: "sk-upstream-secret"',
    'headers: { Host: x }',
    '6:90: providers.openai.headers.Host: this header belongs to the connection, expected another',
  ),
  spoil(
    'a look-ahead',
    'forbidden-[0-9]{4}',
    'forbidden(?=x)',
    '21:35: guardrails[0].content_filters[0].pattern: the pattern "forbidden(?=x)" is refused: expected an RE2 pattern (no look-around, no back-references): invalid or unsupported Perl syntax: `(?=`',
  ),
  spoil(
    'a back-reference',
    'forbidden-[0-9]{4}',
    '(a)\\\\1',
    '21:35: guardrails[0].content_filters[0].pattern: the pattern "(a)\\\\1" is refused: expected an RE2 pattern (no look-around, no back-references): invalid escape sequence: `\\1`',
  ),
  spoil(
    'a bracket in a pattern',
    'forbidden-[0-9]{4}',
    'forbidden[',
    '21:35: guardrails[0].content_filters[0].pattern: the pattern "forbidden[" is refused: expected an RE2 pattern (no look-around, no back-references): missing closing ]: `[`',
  ),
  spoil(
    'a wildcard in the middle',
    'sim/echo:',
    '"sim/*-echo":',
    '14:3: models["sim/*-echo"]: a wildcard stands for the whole name, expected author/*',
  ),
  spoil(
    'a wildcard without a star upstream',
    'sim/echo:',
    '"sim/*":',
    '15:42: models["sim/*"].endpoints[0].model: expected one * for the tail of the slug',
  ),
  spoil(
    'a star upstream without a wildcard',
    'model: echo',
    'model: "*"',
    '15:42: models["sim/echo"].endpoints[0].model: a * in the model of a slug without one, expected the provider\'s own name',
  ),
  spoil(
    'an endpoint twice',
    '[ { provider: sim, model: echo } ]',
    '[ { provider: sim, model: echo }, { provider: sim, model: story } ]',
    '15:50: models["sim/echo"].endpoints[1]: a second endpoint of this model at this provider, expected a variant by which they differ',
  ),
  spoil(
    'more output than context',
    'context: 400000',
    'context: 1000',
    '11:17: models["openai/gpt-5-mini"].max_output: expected at most the context of 1000',
  ),
  spoil(
    'an alias to nothing',
    'app/default: openai/gpt-5-mini',
    'app/default: openai/gpt-6-mini',
    '16:25: aliases["app/default"]: no such model, did you mean "openai/gpt-5-mini"?',
  ),
  spoil(
    'an alias in a circle',
    'app/default: openai/gpt-5-mini',
    'app/default: app/other, app/other: app/default',
    '16:25: aliases["app/default"]: this alias leads back to itself, expected a model',
    '16:47: aliases["app/other"]: this alias leads back to itself, expected a model',
  ),
  spoil(
    'an alias that is a model',
    'app/default: openai/gpt-5-mini',
    'sim/echo: openai/gpt-5-mini',
    '16:12: aliases["sim/echo"]: a model has this slug, expected another',
    '17:16: default_model: no such model, expected one of: openai/gpt-5-mini, sim/echo, sim/echo',
  ),
  spoil(
    'a default model that is not there',
    'default_model: app/default',
    'default_model: app/defautl',
    '17:16: default_model: no such model, did you mean "app/default"?',
  ),
  spoil(
    'a key name twice',
    'limit: "10.00" }',
    'limit: "10.00" }\n    - { name: app, key: "sk-other-secret" }',
    '5:15: auth.keys[1].name: a second key of this name, expected another: spend is kept by name',
  ),
  spoil(
    'a secret twice, not shown',
    'limit: "10.00" }',
    'limit: "10.00" }\n    - { name: other, key: "sk-app-secret-value" }',
    '5:27: auth.keys[1].key: a second entry with this secret, expected another',
  ),
  spoil(
    'a guardrail for an unknown key',
    'keys: [ app ]',
    'keys: [ apq ]',
    '20:22: guardrails[0].scope.keys[0]: no such key, did you mean "app"?',
  ),
  spoil(
    'a key for an unknown model',
    'limit: "10.00"',
    'allowed_models: [ openai/gpt-5-mino ]',
    '4:66: auth.keys[0].allowed_models[0]: no such model, did you mean "openai/gpt-5-mini"?',
  ),
  append(
    'preferences for an unknown provider',
    'provider: { only: [ opnai ] }',
    '22:21: provider.only[0]: no such provider, did you mean "openai"?',
  ),
  append(
    'a catalogue file that is not there',
    'catalog: [ nowhere.yaml ]',
    '22:12: catalog[0]: the file cannot be read (ENOENT), expected a YAML file',
  ),
  spoil(
    'an embedding model with output and a price for it',
    'context: 400000',
    'kind: embedding',
    '11:5: models["openai/gpt-5-mini"].max_output: embeddings have no output tokens, expected no such key',
    '13:73: models["openai/gpt-5-mini"].endpoints[0].price.completion: embeddings have no output tokens, expected no such price',
  ),
  whole(
    'an embedding model at a provider without embeddings',
    'providers: { a: { dialect: anthropic, base_url: "https://a.example" } }\nmodels: { a/e: { kind: embedding, endpoints: [ { provider: a, model: e } ] } }\n',
    '2:60: models["a/e"].endpoints[0].provider: the dialect anthropic gives no embeddings, expected one of openai-chat, openai-responses, gemini, sim, cohere, voyage',
  ),
  spoil(
    'a model that generates at a provider of embeddings',
    'dialect: openai-responses',
    'dialect: cohere',
    '13:21: models["openai/gpt-5-mini"].endpoints[0].provider: the dialect cohere gives embeddings only, expected one of openai-chat, openai-responses, anthropic, gemini, bedrock-converse, bedrock-anthropic, sim',
  ),
  spoil(
    'a list of models and a pass-through where there are embeddings only',
    'dialect: openai-responses,',
    'dialect: voyage, discover: true, pass_through: { price: "0.01" },',
    '13:21: models["openai/gpt-5-mini"].endpoints[0].provider: the dialect voyage gives embeddings only, expected one of openai-chat, openai-responses, anthropic, gemini, bedrock-converse, bedrock-anthropic, sim',
    '6:30: providers.openai.discover: the dialect voyage gives embeddings only, expected no such key',
    '6:46: providers.openai.pass_through: the dialect voyage gives embeddings only, expected no such key',
  ),
  spoil(
    'a rule for long inputs of a model that generates',
    'context: 400000',
    'long_input: reject',
    '10:5: models["openai/gpt-5-mini"].long_input: this is a setting of embeddings, expected `kind: embedding`',
  ),
  append(
    'a plugin twice',
    'plugins: { order: [ context-compression, context-compression ] }',
    '22:42: plugins.order[1]: this plugin is named twice, expected it once',
  ),
]

const variable = (name: string, from: string, to: string, env: Record<string, string>, ...problems: string[]): Broken => ({
  name,
  replace: [from, to],
  env,
  problems,
})

export const VARIABLES: Broken[] = [
  variable(
    'a missing variable',
    '"sk-upstream-secret"',
    '"${UPSTREAM_KEY}"',
    {},
    '6:84: providers.openai.key: the environment variable UPSTREAM_KEY is not set, expected a value or a default as in ${UPSTREAM_KEY:-default}',
  ),
  variable(
    'an empty variable',
    '"sk-upstream-secret"',
    '"${UPSTREAM_KEY}"',
    { UPSTREAM_KEY: '' },
    '6:84: providers.openai.key: the environment variable UPSTREAM_KEY is not set, expected a value or a default as in ${UPSTREAM_KEY:-default}',
  ),
  variable(
    'a malformed variable',
    '"sk-upstream-secret"',
    '"${UPSTREAM-KEY}"',
    {},
    '6:84: providers.openai.key: malformed variable, expected ${NAME}, ${NAME:-default} or ${NAME?}',
  ),
  variable(
    'a variable that never closes',
    '"sk-upstream-secret"',
    '"${UPSTREAM_KEY"',
    {},
    '6:84: providers.openai.key: malformed variable, expected ${NAME}, ${NAME:-default} or ${NAME?}',
  ),
  variable(
    'an optional variable outside an entry',
    '127.0.0.1',
    '"${HOST?}"',
    {},
    '1:17: server.host: the environment variable HOST is not set; the form with ? works only in an entry of providers, auth.keys, engines, ocr or moderation',
  ),
  variable(
    'a bad value of a variable, not shown',
    '"sk-upstream-secret"',
    '"${UPSTREAM_KEY}"',
    { UPSTREAM_KEY: 'hunter2 hunter2' },
    '6:84: providers.openai.key: expected visible ASCII characters without spaces',
  ),
  variable(
    'a bad number of a variable, not shown',
    'port: 8080',
    'port: "${PORT}"',
    { PORT: 'hunter2' },
    '1:34: server.port: found text, expected a whole number from 0 to 65535',
  ),
  variable(
    'a bad URL of a variable, not shown',
    '"https://api.openai.com/v1"',
    '"${BASE}"',
    { BASE: 'https://me:hunter2@x/v1' },
    '6:50: providers.openai.base_url: expected a URL without credentials',
  ),
  variable(
    'a bad choice of a variable, not shown',
    'dialect: sim',
    'dialect: "${DIALECT}"',
    { DIALECT: 'hunter2' },
    '7:19: providers.sim.dialect: expected one of: openai-chat, openai-responses, anthropic, gemini, bedrock-converse, bedrock-anthropic, sim, cohere, voyage',
  ),
  variable(
    'the development key beyond loopback',
    '"sk-app-secret-value"',
    '"${HEADGATE_DEV_KEY:-sk-router-v1-dev}"',
    {},
    '4:25: auth.keys[0].key: the development key sk-router-v1-dev is honoured only while listening on loopback, expected server.host 127.0.0.1 or a key of your own in auth.keys',
  ),
]

const guarded = (name: string, line: string, ...problems: string[]): Broken => spoil(name, 'scope: { keys: [ app ] }', line, ...problems)

export const GUARDRAILS: Broken[] = [
  guarded(
    'an unknown recogniser',
    'content_filter_builtins: [ { slug: e-mail, action: redact } ]',
    '20:40: guardrails[0].content_filter_builtins[0].slug: unknown value "e-mail", did you mean "email"?',
  ),
  guarded(
    'a recogniser twice',
    'content_filter_builtins: [ { slug: email, action: redact }, { slug: email, action: flag } ]',
    '20:73: guardrails[0].content_filter_builtins[1].slug: this filter is named twice, expected it once',
  ),
  guarded(
    'an unknown action',
    'content_filter_builtins: [ { slug: email, action: mask } ]',
    '20:55: guardrails[0].content_filter_builtins[0].action: unknown value "mask", expected one of: flag, redact, block',
  ),
  guarded(
    'whose words, of an address',
    'content_filter_builtins: [ { slug: email, action: flag, scan_scope: user_only } ]',
    '20:61: guardrails[0].content_filter_builtins[0].scan_scope: this is a setting of regex-prompt-injection, expected no such key',
  ),
  guarded(
    'allowed phrases of nothing',
    'allowed_phrases: [ hello ]',
    '20:5: guardrails[0].allowed_phrases: needs regex-prompt-injection among the filters',
  ),
  guarded('an empty phrase', 'phrases: [ " " ]', '20:16: guardrails[0].phrases[0]: " " does not fit, expected a phrase'),
  guarded(
    'an unknown model',
    'allowed_models: [ openai/gpt-5-mino ]',
    '20:23: guardrails[0].allowed_models[0]: no such model, did you mean "openai/gpt-5-mini"?',
  ),
  guarded('no models', 'ignored_models: [ ]', '20:21: guardrails[0].ignored_models: expected at least 1 entry'),
  guarded(
    'an unknown provider',
    'ignored_providers: [ opena ]',
    '20:26: guardrails[0].ignored_providers[0]: no such provider, did you mean "openai"?',
  ),
  guarded('a budget that is text', 'limit_usd: much', '20:16: guardrails[0].limit_usd: found text, expected a number from 0 to 9000000'),
  guarded(
    'a workspace that is not there',
    'workspace_id: mine',
    '20:19: guardrails[0].workspace_id: unknown value "mine", expected one of: 00000000-0000-8000-8000-000000000001',
  ),
  guarded('an audit of another kind', 'audit: none', '20:12: guardrails[0].audit: unknown value "none", expected one of: hashes, full'),
  guarded('a budget too exact', 'limit_usd: 0.12345678901', '20:16: guardrails[0].limit_usd: expected at most 9 decimals'),
  guarded(
    'a reset of nothing',
    'reset_interval: daily',
    '20:5: guardrails[0].reset_interval: a reset without a limit, expected limit_usd as well',
  ),
  guarded(
    'a webhook with a setting of an analyser',
    'engine: { type: webhook, url: "https://guard.example", threshold: 0.5 }',
    '20:60: guardrails[0].engine.threshold: this is a setting of presidio, expected no such key',
  ),
  guarded(
    'an engine without address',
    'engine: { type: webhook }',
    '20:13: guardrails[0].engine: webhook without an address, expected url',
  ),
]
