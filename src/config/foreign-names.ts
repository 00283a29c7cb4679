/** Names of settings in the files of other gateways, and what stands for each here. */

const LITELLM = 'docs/migration/litellm.md shows such a file in both forms'
const PORTKEY = 'docs/migration/portkey.md shows such a file in both forms'

/** LiteLLM 1.106 (`config.yaml`), Portkey's gateway 1.15 (configs) and Bifrost 1.5 (`config.json`) as their documents have them. */
const INSTEAD: Readonly<Record<string, string>> = {
  api_base: 'base_url',
  api_key: 'key',
  api_keys: 'keys',
  api_type: 'dialect',
  allowed_providers: 'only of provider',
  budget_duration: 'limit_reset',
  cost_per_token: 'price of an endpoint',
  deployments: 'endpoints of a model',
  fallbacks: `a second entry under endpoints of the model, or models of a preset; ${LITELLM}`,
  general_settings: `auth, server, store; ${LITELLM}`,
  input_cost_per_token: 'price: { prompt } of an endpoint, in USD per million tokens',
  litellm_params: `endpoints of a model; ${LITELLM}`,
  litellm_settings: `server, plugins, telemetry; ${LITELLM}`,
  master_key: 'a key with management: true under auth.keys',
  max_budget: 'limit',
  max_retries: 'a second entry under endpoints of the model: headgate calls the next one',
  model_group_alias: 'aliases',
  model_list: `models; ${LITELLM}`,
  model_name: 'the slug of a model, as a key under models',
  organization_id: 'headers',
  output_cost_per_token: 'price: { completion } of an endpoint, in USD per million tokens',
  override_params: `presets; ${PORTKEY}`,
  router_settings: `provider, aliases; ${LITELLM}`,
  rpm: 'limits: { requests } of a key, per minute',
  rpm_limit: 'limits: { requests } of a key, per minute',
  strategy: `endpoints of a model, and provider; ${PORTKEY}`,
  targets: `endpoints of a model; ${PORTKEY}`,
  tpm: 'limits: { tokens } of a key, per minute',
  tpm_limit: 'limits: { tokens } of a key, per minute',
  virtual_key: 'a key under auth.keys, and a key of the provider',
  virtual_keys: 'auth.keys',
}

/** `, which is written …` for a name of another gateway; empty for any other. */
export function foreignHint(key: string): string {
  const instead = Object.hasOwn(INSTEAD, key) ? INSTEAD[key] : undefined
  return instead === undefined ? '' : `, which another gateway has: here it is ${instead}`
}
