/** Titles of the gateways whose files can be read, by the value of `--from`: the command line shows them without a reader loaded. */
export const GATEWAY_TITLES = {
  litellm: 'LiteLLM',
  bifrost: 'Bifrost',
  tensorzero: 'TensorZero',
  agentgateway: 'agentgateway',
  portkey: 'Portkey',
  openrouter: 'OpenRouter presets',
} as const
