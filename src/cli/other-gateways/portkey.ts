/**
 * A config of Portkey (JSON): its targets and their strategy, by npm @portkey-ai/gateway 1.15.2 (`src/types/requestBody.ts`: Config, Options,
 * Targets) and portkey.ai/docs, the config object. A config that answers for one model becomes that model.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ConfigDraft, EndpointSettings } from './config-draft.ts'
import type { OtherGateway } from './other-gateway.ts'
import { LIMITS, wholeWeight } from './quantities.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

const NO_CACHE = 'headgate has no cache of responses'
const GUARDRAILS = 'guardrails: docs/migration/portkey.md has the checks'

export const portkey: OtherGateway = {
  name: 'portkey',
  title: GATEWAY_TITLES.portkey,
  compared: { release: '@portkey-ai/gateway 1.15.2 of npm', documents: 'https://portkey.ai/docs', read: '2026-08-21' },
  recognises: (value) =>
    Array.isArray(value.targets) || isObject(value.strategy) || typeof value.virtual_key === 'string' || isObject(value.override_params),
  read: ({ root }, draft) => {
    const found = readTargets(root, { weight: 1, timeout: root.numberFor('request_timeout', LIMITS.attempt) }, draft)
    const name = found.find(({ model }) => model !== undefined)?.model
    for (const { endpoint, provider, model } of found) {
      const slug = name !== undefined && model !== undefined ? name : `${provider}/*`
      draft.endpoint(slug, endpoint)
    }
    const mode = root.part('strategy')?.text('mode')
    if (mode === 'fallback' && name !== undefined) draft.inOrder(name)
    common(root)
    root.part('strategy')?.part('on_status_codes')?.replaced('failures of the provider go on to the next endpoint: docs/routing.md')
    root.part('strategy')?.left('let the application name a preset, or give each group a key with its own provider preferences')
  },
}

interface Target {
  readonly provider: string
  readonly model: string | undefined
  readonly endpoint: EndpointSettings
}

/** Settings of targets from the ones around them: a weight inside counts as a part of the weight outside. */
interface Around {
  readonly weight: number
  /** Milliseconds. */
  readonly timeout: number | undefined
}

/** The targets, those inside others among them. */
function readTargets(part: Part, around: Around, draft: ConfigDraft): Target[] {
  const targets = part.list('targets')
  if (targets.length === 0) return target(part, around, draft)
  return targets.flatMap((inner) => {
    const own = inner.number('weight')
    const weight = own === undefined ? around.weight : around.weight * own
    const found = readTargets(inner, { weight, timeout: inner.numberFor('request_timeout', LIMITS.attempt) ?? around.timeout }, draft)
    common(inner)
    inner.part('strategy')?.left('one order holds for all targets')
    return found
  })
}

function target(part: Part, { weight, timeout }: Around, draft: ConfigDraft): Target[] {
  const override = part.part('override_params')
  const written = override?.text('model')
  // `@openai-prod/gpt-5`: an account of the model catalogue, and the model.
  const [, account, model = written] = /^@([^/]+)\/(.+)$/.exec(written ?? '') ?? []
  const provider = part.text('provider')?.replace(/^@/, '') ?? account ?? part.text('virtual_key')?.replace(/^@/, '')
  if (provider === undefined) return []
  const key = part.text('api_key') ?? part.text('apiKey')
  const settings = draft.providerSettings(guessed(provider), {
    base_url: azureAddress(part, draft) ?? part.text('custom_host'),
    key: key === undefined ? undefined : draft.secret(key, `${provider}_api_key`, `Key of ${provider}`),
  })
  if (timeout !== undefined) settings.timeouts = { total: `${timeout}ms` }
  const deployment = part.text('azure_deployment_id') ?? part.text('deployment_id')
  const endpoint: JsonObject & { provider: string; model: string } = {
    provider: draft.provider(provider, settings),
    model: deployment ?? model ?? '*',
    price: 'snapshot',
    ...(weight === 1 ? {} : { weight: wholeWeight(weight) }),
  }
  override?.left('parameters of a preset, as defaults: what the request sends wins')
  part.part('virtual_key')?.replaced('a provider of the file: its key in a variable')
  return [{ provider, model: model ?? deployment, endpoint: endpoint as EndpointSettings }]
}

/** Names of accounts begin with that of the provider as a rule: `openai-prod`. */
const guessed = (account: string): string => account.split(/[-_ ]/)[0] ?? account

function azureAddress(part: Part, draft: ConfigDraft): string | undefined {
  const resource = part.text('azure_resource_name') ?? part.text('resource_name')
  part.part('azure_api_version')?.replaced('the API v1 of Azure, which takes no version')
  return resource === undefined ? undefined : `https://${draft.reference(resource)}.openai.azure.com`
}

/** Members that a config and each of its targets may have. */
function common(part: Part): void {
  part.members({
    retry: ['replaced', 'the next endpoint is tried, within a retry budget'],
    cb_config: ['replaced', 'five failures in a row eject an endpoint'],
    cache: ['left', NO_CACHE],
    input_guardrails: ['left', GUARDRAILS],
    output_guardrails: ['left', GUARDRAILS],
    before_request_hooks: ['left', GUARDRAILS],
    after_request_hooks: ['left', GUARDRAILS],
    default_params: ['left', 'parameters of a preset'],
    drop_params: ['left', 'quirks.body.drop of the provider'],
    forward_headers: ['left', 'headers of the provider'],
    metadata: ['left', 'user of a request'],
  })
}
