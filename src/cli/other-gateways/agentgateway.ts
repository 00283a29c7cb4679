/**
 * The configuration of agentgateway (YAML): its model routes (`llm`), and its routes to models (`binds`, `backends`), by `schema/config.md` of
 * github.com/agentgateway/agentgateway at commit 005d0299 and the files of `examples`.
 */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ConfigDraft, ProviderSettings } from './config-draft.ts'
import type { OtherGateway } from './other-gateway.ts'
import { wholeWeight } from './quantities.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

const PROXY = 'headgate serves models alone: keep a proxy for other traffic'

export const agentgateway: OtherGateway = {
  name: 'agentgateway',
  title: GATEWAY_TITLES.agentgateway,
  compared: {
    release: 'github.com/agentgateway/agentgateway at commit 005d0299',
    documents: 'https://github.com/agentgateway/agentgateway/blob/005d0299/schema/config.md',
    read: '2026-10',
  },
  recognises: (value) => Array.isArray(value.binds) || (isObject(value.llm) && Array.isArray(value.llm.models)),
  read: ({ root }, draft) => {
    const llm = root.part('llm')
    const port = llm?.number('port')
    if (port !== undefined) draft.set('server.port', port)
    for (const model of llm?.list('models') ?? []) readModel(model, draft)
    llm?.part('policies')?.left('guardrails, auth.keys and limits: docs/configuration.md')
    for (const bind of root.list('binds')) {
      const listened = bind.number('port')
      if (listened !== undefined) draft.set('server.port', listened)
      for (const listener of bind.list('listeners')) for (const route of listener.list('routes')) readRoute(route, draft)
      bind.left(PROXY)
    }
    for (const backend of root.list('backends')) readBackend(backend, undefined, draft)
    root.members({
      config: ['left', 'admin, log and telemetry: docs/configuration.md'],
      mcp: ['left', 'the server tool router:mcp: docs/mcp.md'],
      frontendPolicies: ['left', PROXY],
      services: ['left', PROXY],
      workloads: ['left', PROXY],
    })
  },
}

function readModel(model: Part, draft: ConfigDraft): void {
  const name = model.text('name') ?? 'model'
  const provider = model.text('provider') ?? 'openai'
  const params = model.part('params')
  const key = params?.text('apiKey')
  const settings = draft.providerSettings(provider, {
    base_url: params?.text('baseUrl') ?? hosted(params?.part('hostOverride')),
    key: key === undefined ? undefined : draft.secret(key, `${provider}_api_key`, `Key of ${provider}`),
  })
  const isWild = name === '*' || name.endsWith('/*')
  const slug = name === '*' ? `${provider.toLowerCase()}/*` : name
  const endpoint = {
    provider: draft.provider(provider, settings),
    model: params?.text('model') ?? (isWild ? '*' : name),
    price: 'snapshot' as const,
  }
  if (!draft.endpoint(slug, endpoint)) model.part('name')?.left('no name of a model here: letters, digits and . _ - with / between')
  else if (slug !== name) model.part('name')?.replaced(`${slug}: a request names the author too`)
  params?.left('docs/providers.md, docs/clouds')
  model.members({
    matches: ['left', 'several endpoints of one model are drawn by price or weight; a header chooses none'],
    guardrails: ['left', 'docs/guardrails.md'],
    health: ['replaced', 'five failures in a row eject an endpoint'],
    defaults: ['left', 'parameters of a preset'],
    overrides: ['left', 'a request says what it wants; presets have defaults'],
    requestHeaders: ['left', 'headers of the provider'],
  })
  model.left('docs/routing.md')
}

function readRoute(route: Part, draft: ConfigDraft): void {
  const policies = route.part('policies')
  const listed =
    policies
      ?.part('ai')
      ?.list('models')
      .flatMap((model) => model.text('id') ?? []) ?? []
  const auth = policies?.part('backendAuth')
  for (const backend of route.list('backends')) readBackend(backend, { listed, auth }, draft)
  policies?.members({
    localRateLimit: ['left', 'limits of each key under auth.keys'],
    remoteRateLimit: ['left', 'limits of each key under auth.keys'],
    apiKey: ['left', 'auth.keys; a secret of which only a digest is known cannot be carried'],
    cors: ['left', 'server.cors'],
    timeout: ['left', 'server.deadline, timeouts of the provider'],
    retry: ['replaced', 'the next endpoint is tried, within a retry budget'],
  })
  policies?.left('docs/configuration.md')
}

interface RouteFacts {
  readonly listed: readonly string[]
  readonly auth: Part | undefined
}

function readBackend(backend: Part, route: RouteFacts | undefined, draft: ConfigDraft): void {
  const ai = backend.part('ai')
  if (ai === undefined) {
    backend.left(PROXY)
    return
  }
  const groups = ai.list('groups').map((group) => group.list('providers'))
  const alone = ai.part('provider') === undefined ? [] : [[ai]]
  const ranks = groups.length > 0 ? groups : alone
  const weight = backend.number('weight')
  const added = ranks.flatMap((rank) => rank.flatMap((part) => readProvider(part, { ...route, weight }, draft)))
  if (ranks.length > 1) for (const slug of new Set(added)) draft.inOrder(slug)
  backend.left('docs/routing.md')
}

function readProvider(part: Part, facts: Partial<RouteFacts> & { weight: number | undefined }, draft: ConfigDraft) {
  return part.entries('provider').flatMap(([type, provider]) => {
    const auth = part.part('policies')?.part('backendAuth') ?? facts.auth
    const key = auth?.text('key')
    const settings: ProviderSettings = draft.providerSettings(type, {
      base_url: hosted(part.part('hostOverride')),
      key: key === undefined ? undefined : draft.secret(key, `${type}_api_key`, `Key of ${type}`),
    })
    const name = draft.provider(part.text('name') ?? type, settings)
    const fixed = provider.text('model')
    const models = fixed === undefined ? (facts.listed ?? []) : [fixed]
    const wild = models.length === 0 ? [`${type.toLowerCase()}/*`] : []
    if (provider.entries().length === 0)
      provider.replaced(models.length === 0 ? `${wild[0]}: a request names the author too` : 'the models of the route')
    provider.left('docs/clouds')
    return [...models.map((model) => [model, fixed ?? model] as const), ...wild.map((slug) => [slug, '*'] as const)].flatMap(
      ([slug, model]) => {
        const endpoint: JsonObject & { provider: string; model: string } = { provider: name, model, price: 'snapshot' }
        if (facts.weight !== undefined) endpoint.weight = wholeWeight(facts.weight)
        return draft.endpoint(slug, endpoint as typeof endpoint & { price: 'snapshot' }) ? [slug] : []
      },
    )
  })
}

/** `host:port` of a server that is called without TLS, as the gateway does unless a policy says otherwise. */
function hosted(host: Part | undefined): string | undefined {
  if (typeof host?.value !== 'string') return undefined
  host.replaced('base_url without TLS: write https where a policy has backendTLS')
  return `http://${host.value}/v1`
}
