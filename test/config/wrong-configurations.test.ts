/** Wrong configurations as people write them, and what `headgate check` has to say of each: the place, what was expected, the remedy. */
import t from 'tap'
import { check } from '../../src/cli/check.ts'
import { printed } from '../support/printed.ts'

const PROVIDERS = 'providers: { o: { preset: openai, key: "sk-provider-0123456789" } }'
const MODELS = 'models: { a/b: { endpoints: [ { provider: o, model: b, price: free } ] } }'
const REST = `${PROVIDERS}\n${MODELS}`

/** Fault, file, and each line that has to be printed for it. */
const CASES: readonly (readonly [name: string, text: string, ...utterance: RegExp[]])[] = [
  ['a tab as indentation', 'server:\n\tport: 8080', /:2:1: a tab, expected spaces/],
  [
    'an unclosed quote',
    `auth: { keys: [ { name: "app, key: x } ] }\n${REST}`,
    /:1:\d+: a character is missing, expected a closing quote or bracket, a comma, or a space after a colon/,
  ],
  ['an empty file', '', /:1:1: the file is empty, expected a configuration/],
  ['a list where a mapping belongs', `providers: [ openai ]\n${MODELS}`, /:1:12: providers: found a list, expected a mapping/],
  ['a mistyped section', `provders: {}\n${REST}`, /provders: unknown key, did you mean "providers"\?/],
  ['a key twice', `server: { port: 1 }\nserver: { port: 2 }\n${REST}`, /:2:1: this key occurs twice, expected it once/],
  [
    "LiteLLM's list of models",
    `model_list: [ { model_name: gpt-4o } ]\n${REST}`,
    /model_list: unknown key, .*models; docs\/migration\/litellm\.md/,
  ],
  [
    "LiteLLM's general settings",
    `general_settings: { master_key: x }\n${REST}`,
    /general_settings: unknown key, .*auth, server, store; docs\/migration\/litellm\.md/,
  ],
  ["Portkey's targets", `targets: []\n${REST}`, /targets: unknown key, .*endpoints of a model; docs\/migration\/portkey\.md/],
  [
    'api_key of a provider',
    `providers: { o: { preset: openai, api_key: x } }\n${MODELS}`,
    /providers\.o\.api_key: unknown key, .*here it is key/,
  ],
  [
    'api_base of a provider',
    `providers: { o: { dialect: openai-chat, api_base: "http://x/v1" } }\n${MODELS}`,
    /providers\.o\.api_base: unknown key, .*here it is base_url/,
  ],
  [
    'max_budget of a key',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", max_budget: 5 } ] }\n${REST}`,
    /max_budget: unknown key, .*here it is limit/,
  ],
  [
    'rpm of a key',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", rpm: 5 } ] }\n${REST}`,
    /rpm: unknown key, .*limits: \{ requests \}/,
  ],
  [
    'preset azure',
    `providers: { o: { preset: azure } }\n${MODELS}`,
    /providers\.o\.preset: there is no preset of this name, did you mean "azure-openai"\?/,
  ],
  ['preset vertex', `providers: { o: { preset: vertex } }\n${MODELS}`, /did you mean one of: vertex-claude, vertex-gemini\?/],
  [
    'preset aws-bedrock',
    `providers: { o: { preset: aws-bedrock } }\n${MODELS}`,
    /did you mean one of: bedrock, bedrock-claude, bedrock-openai\?/,
  ],
  ['preset gemini-vertex', `providers: { o: { preset: gemini-vertex } }\n${MODELS}`, /did you mean "vertex-gemini"\?/],
  ['preset open-router', `providers: { o: { preset: open-router } }\n${MODELS}`, /did you mean "openrouter"\?/],
  [
    'an unknown dialect',
    `providers: { o: { dialect: openai } }\n${MODELS}`,
    /providers\.o\.dialect: unknown value "openai", expected one of: openai-chat, openai-responses/,
  ],
  [
    'no address',
    `providers: { o: { dialect: openai-chat } }\n${MODELS}`,
    /providers\.o: "base_url" is missing, expected the address of the provider/,
  ],
  [
    'an address without a scheme',
    `providers: { o: { dialect: openai-chat, base_url: api.example.com } }\n${MODELS}`,
    /providers\.o\.base_url: .*expected an http or https URL/,
  ],
  [
    'a variable that is not set',
    `providers: { o: { preset: openai, key: "\${NOT_SET_HERE}" } }\n${MODELS}`,
    /NOT_SET_HERE is not set, expected a value or a default as in \$\{NOT_SET_HERE:-default\}/,
  ],
  [
    'a provider of a bare name that is mistyped',
    `${PROVIDERS}\nmodels: { gpt-4o: { endpoints: [ { provider: openia, model: gpt-4o } ] } }`,
    /models\.gpt-4o\.endpoints\[0\]\.provider: no such provider, expected one of: o/,
  ],
  [
    'a mistyped provider',
    `providers: { openai: { preset: openai, key: k } }\nmodels: { a/b: { endpoints: [ { provider: openia, model: b } ] } }`,
    /no such provider, did you mean "openai"\?/,
  ],
  [
    'a provider that no model uses',
    `${PROVIDERS}\nmodels: {}`,
    /providers\.o: this provider is not used, expected a model with an endpoint there/,
  ],
  ['no endpoints', `${PROVIDERS}\nmodels: { a/b: { endpoints: [] } }`, /endpoints: expected at least 1 entry/],
  [
    'a price that is a number',
    `${PROVIDERS}\nmodels: { a/b: { endpoints: [ { provider: o, model: b, price: { prompt: 0.5, completion: "1" } } ] } }`,
    /price\.prompt: found 0\.5, expected .*"/,
  ],
  [
    'a limit that is a number',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit: 10 } ] }\n${REST}`,
    /limit: found 10, expected .*"/,
  ],
  [
    'a window of another word',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit: "10", limit_reset: month } ] }\n${REST}`,
    /limit_reset: unknown value "month", did you mean "monthly"\?/,
  ],
  [
    'two keys of one name',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef" }, { name: app, key: "sk-bpp-0123456789abcdef" } ] }\n${REST}`,
    /auth\.keys\[1\]\.name: a second key of this name, expected another/,
  ],
  [
    'two keys of one secret',
    `auth: { keys: [ { name: a, key: "sk-app-0123456789abcdef" }, { name: b, key: "sk-app-0123456789abcdef" } ] }\n${REST}`,
    /auth\.keys\[1\]\.key: a second entry with this secret, expected another/,
  ],
  [
    'a model of a key that is not there',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", allowed_models: [ a/bb ] } ] }\n${REST}`,
    /allowed_models\[0\]: no such model, did you mean "a\/b"\?/,
  ],
  ['a default model that is not there', `default_model: a/c\n${REST}`, /default_model: no such model, did you mean "a\/b"\?/],
  ['a port that is none', `server: { port: 80800 }\n${REST}`, /server\.port: found 80800, expected a whole number from 0 to 65535/],
  [
    'one port for both listeners',
    `server: { port: 8081 }\n${REST}`,
    /server\.port: the gateway and the admin listener both have port 8081, expected two ports/,
  ],
  [
    'a duration without a unit',
    `server: { header_timeout: 30 }\n${REST}`,
    /server\.header_timeout: found 30, expected a duration such as 250ms, 5s or 10m/,
  ],
  [
    'a store of another kind',
    `store: { url: "mysql://x/y" }\n${REST}`,
    /store\.url: .*expected sqlite: and a path, a postgres:\/\/ address, or memory:/,
  ],
  [
    'management keys alone',
    `auth: { keys: [ { name: boss, key: "sk-boss-0123456789abcdef", management: true } ] }\n${REST}`,
    /warning: .*auth\.keys: management keys call no models: expected one of the role member/,
  ],
  [
    'a key that can be guessed',
    `auth: { keys: [ { name: app, key: "password" } ] }\n${REST}`,
    /warning: .*auth\.keys\[0\]\.key: this key can be guessed, expected one such as sk-[0-9a-f]{48}/,
  ],
  [
    'a variable without braces',
    `providers: { o: { preset: openai, key: $OPENAI_API_KEY } }\n${MODELS}`,
    /warning: .*providers\.o\.key: sent as it stands, expected the variable in braces: \$\{OPENAI_API_KEY\}/,
  ],
  [
    'an address that ends in an operation',
    `providers: { o: { dialect: openai-chat, base_url: "https://api.example.com/v1/chat/completions" } }\n${MODELS}`,
    /warning: .*base_url: ends in an operation, .*expected the address before it/,
  ],
  [
    'a limited key and a model without a price',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit: "5" } ] }\n${PROVIDERS}\nmodels: { a/b: { endpoints: [ { provider: o, model: b } ] } }`,
    /warning: .*keys with a limit \(app\) cannot use models without a price: a\/b\. A price on each endpoint, or price: snapshot/,
  ],
  [
    'a limited key and a model that the price snapshot does not know',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", limit: "5" } ] }\n${PROVIDERS}\nmodels: { a/b: { endpoints: [ { provider: o, model: no-such-model, price: snapshot } ] } }`,
    /warning: the price snapshot has no price for a\/b@o: what is spent there is not counted, and keys with a limit \(app\) cannot use it\. State a price/,
  ],
  [
    'a model that the price snapshot does not know, beside one that it knows',
    `${PROVIDERS}\nmodels: { a/b: { endpoints: [ { provider: o, model: no-such-model, price: snapshot } ] }, a/c: { endpoints: [ { provider: o, model: gpt-5-mini, price: snapshot } ] } }`,
    /warning: the price snapshot has no price for a\/b@o: .*State a price, or price: free$/m,
  ],
  [
    'several keys that nobody owns, and endpoints to choose from',
    `auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef" }, { name: bot, key: "sk-bot-0123456789abcdef" }, { name: of-ann, key: "sk-ann-0123456789abcdef", creator_user_id: ann } ] }\n${PROVIDERS}\nmodels: { a/b: { endpoints: [ { provider: o, model: b, price: free }, { provider: o, model: c, variant: nitro, price: free } ] } }`,
    /warning: .*auth\.keys: app, bot have no creator_user_id, so each is a caller of its own, and two that fail move all keys/,
  ],
  [
    'a provider without its variable',
    `providers: { o: { preset: openai, key: "\${NOT_SET_HERE?}" } }\nmodels: { a/b: { endpoints: [ { provider: o, model: b } ] } }`,
    /left out for want of their variables: o \(NOT_SET_HERE\)/,
  ],
  [
    'Bedrock without its region',
    'providers: { b: { preset: bedrock-claude } }\nmodels: { claude: { endpoints: [ { provider: b, model: m } ] }, haiku: { endpoints: [ { provider: b, model: h } ] } }',
    /left out for want of their variables: b \(AWS_REGION\)/,
    /warning: .*:1:17: providers\.b: left out, and with it claude, haiku: its preset needs AWS_REGION in the environment/,
    /warning: .*providers: all are left out for want of their variables: nothing is served/,
  ],
  [
    'Azure without its resource, with a provider behind it',
    'providers: { a: { preset: azure-openai }, o: { preset: openai, key: sk-0123456789 } }\nmodels: { gpt: { endpoints: [ { provider: a, model: m }, { provider: o, model: m } ] } }',
    /warning: .*providers\.a: left out: its preset needs AZURE_OPENAI_RESOURCE and AZURE_OPENAI_API_KEY in the environment/,
  ],
  [
    'Vertex AI without its project',
    `providers: { v: { preset: vertex-gemini }, o: { preset: openai, key: sk-0123456789 } }\nmodels: { gemini: { endpoints: [ { provider: v, model: m } ] }, a/b: { endpoints: [ { provider: o, model: b } ] } }`,
    /warning: .*providers\.v: left out, and with it gemini: its preset needs GOOGLE_CLOUD_PROJECT in the environment/,
  ],
  [
    'a key and an engine without their variables',
    `auth: { keys: [ { name: app, key: "\${NO_KEY_HERE?}" } ] }\n${REST}\nplugins: { defaults: { web: { engines: { brave: { key: "\${NO_ENGINE_KEY?}" } } } } }`,
    /left out for want of their variables: key app \(NO_KEY_HERE\), engine brave of web \(NO_ENGINE_KEY\)/,
    /warning: .*auth\.keys: all are left out for want of their variables: expected one of the role member/,
  ],
  [
    'several at once: none hides another',
    'auth: { keys: [ { name: app, key: "sk-app-0123456789abcdef", max_budget: 5 } ] }\nproviders: { a: { preset: azure }, o: { preset: openai, key: k } }\nmodels: { gpt-4o: { endpoints: [ { provider: openia, model: x } ] }, a/b: { endpoints: [ { provider: o, model: b, price: 3 } ] } }',
    /max_budget: unknown key/,
    /providers\.a\.preset: there is no preset/,
    /gpt-4o\.endpoints\[0\]\.provider: no such provider/,
    /price: /,
  ],
  [
    'a variable of a policy that is not there',
    `policies: [ { name: a, when: 'caler.name == "x"', deny: {} } ]\n${REST}`,
    /:1:\d+: policies\[0\]\.when: no such variable caler, did you mean "caller"\? \(character 1\)/,
  ],
  [
    'a field of a variable that is not there',
    `policies: [ { name: a, when: 'request.stream && caller.nam == "x"', deny: {} } ]\n${REST}`,
    /policies\[0\]\.when: caller has no field nam, did you mean "name"\? \(character 26\)/,
  ],
  [
    'types of a condition that do not fit',
    `policies: [ { name: a, when: 'cost.max_usd == 1', deny: {} }, { name: b, when: 'caller.name + 1 == "x"', deny: {} } ]\n${REST}`,
    /policies\[0\]\.when: cannot compute double == int, write the number with a decimal point/,
    /policies\[1\]\.when: cannot compute string \+ int, expected two values of one type/,
  ],
  [
    'a condition that is none, and one that never ends well',
    `policies: [ { name: a, when: 'caller.name', deny: {} }, { name: b, when: 'arguments.a.exists(x, arguments.b.exists(y, x == y))', deny: {} } ]\n${REST}`,
    /policies\[0\]\.when: expected a condition, true or false; this is of the type string/,
    /policies\[1\]\.when: may take [\d,]+ steps of the largest request, expected at most 100,000/,
  ],
  [
    'a policy without an effect, with two, and with one that comes too late',
    `policies: [ { name: a, when: 'request.stream' }, { name: b, when: 'request.stream', deny: {}, limit: { requests: 1 } }, { name: c, when: 'endpoint.zdr', route: { model: a/b } }, { name: d, when: 'request.stream', limit: {} } ]\n${REST}`,
    /policies\[0\]: expected an effect, one of: deny, route, limit, guardrails/,
    /policies\[1\]\.limit: stands beside deny, expected one effect/,
    /policies\[2\]\.route: is decided before any endpoint is known, which the condition reads/,
    /policies\[3\]\.limit: expected at least one field/,
  ],
  [
    'names of a policy that are not there, or there twice',
    `policies: [ { name: a, when: 'request.stream', guardrails: [ secrts ] }, { name: a, when: 'request.stream', route: { model: a/c, provider: { only: [ p ] } } } ]\nguardrails: [ { name: secrets, scope: { keys: [] } } ]\n${REST}`,
    /policies\[0\]\.guardrails\[0\]: no such guardrail, did you mean "secrets"\?/,
    /policies\[1\]\.name: a second policy of this name/,
    /policies\[1\]\.route\.model: no such model, did you mean "a\/b"\?/,
    /policies\[1\]\.route\.provider\.only\[0\]: no such provider/,
  ],
]

t.test('each wrong configuration has its message', async (t) => {
  t.ok(CASES.length >= 40)
  for (const [name, text, ...utterance] of CASES) {
    const directory = t.testdir({ 'headgate.yaml': text })
    const { code, out, error } = await printed((streams) => check(`${directory}/headgate.yaml`, {}, streams))
    const warned = utterance.every((one) => /^(warning|left out)/.test(one.source))
    t.equal(code, warned ? 0 : 1, name)
    for (const one of utterance) t.match(out + error, one, name)
  }
})

t.test('what is wrong has one message, not others that follow from it', async (t) => {
  for (const preset of ['azure', 'vertex', 'gemini-vertex']) {
    const directory = t.testdir({ 'headgate.yaml': `providers: { o: { preset: ${preset} } }\n${MODELS}` })
    const { error } = await printed((streams) => check(`${directory}/headgate.yaml`, {}, streams))
    t.equal(error.trim().split('\n').length, 1, error)
  }
})
