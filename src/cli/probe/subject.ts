/** Subject of a probe: one model at one provider, in a configuration of its own. */
import { randomBytes } from 'node:crypto'
import { readConfig } from '../../app/config-reader.ts'
import type { Config, EndpointConfig, ModelConfig, ProviderConfig } from '../../config/config.ts'
import { loadConfig } from '../../config/load.ts'
import { presetNames, providerPreset } from '../../config/provider-presets.ts'
import { hint } from '../../config/suggest.ts'
import { GENERATING } from '../../dialects/quirks.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface Subject {
  readonly provider: ProviderConfig & { readonly baseUrl: string }
  readonly model: ModelConfig
  /** The provider's own name of the model. */
  readonly name: string
  /** Values that must not be seen in a recording, by the names of their variables. */
  readonly secrets: readonly (readonly [text: string, name: string])[]
}

export const SLUG = 'probe/model'

/** @param name a provider of the file, or a preset. @throws Error with a sentence. */
export async function findSubject(
  name: string,
  file: string,
  { model, env }: { model: string | undefined; env: Environment },
): Promise<Subject> {
  const own = await readConfig(file, env)
  const isOwn = own.skipped.includes(name) || own.providers.some(({ slug }) => slug === name)
  const isPreset = presetNames().includes(name)
  if (!isOwn && !isPreset)
    throw new Error(`no such provider: ${name}${hint(name, [...own.providers.map(({ slug }) => slug), ...presetNames()])}`)
  const config = isOwn
    ? own
    : loadConfig('probe.yaml', env, { text: `providers: { ${name}: { preset: ${name}, pass_through: { price: "0" } } }\n` })
  const provider = config.providers.find(({ slug }) => slug === name)
  const preset = provider?.preset ?? (isPreset ? name : undefined)
  const variables = preset === undefined ? [] : Object.keys(providerPreset(preset).variables)
  if (!provider) throw new Error(`${name} is left out for want of its variables${variables.length > 0 ? `: ${variables.join(', ')}` : ''}`)
  const { baseUrl } = provider
  if (baseUrl === undefined) throw new Error(`${name} is inside this process: there is nothing to probe`)
  if (!GENERATING.includes(provider.dialect)) throw new Error(`${name} gives embeddings only: there is nothing to probe`)
  const wanted = model ?? (preset === undefined ? firstAt(config, name) : providerPreset(preset).example_model)
  if (wanted === undefined) throw new Error(`${name} has no model in the configuration: name one with --model`)
  const found = configured(config, name, wanted)
  return {
    provider: { ...provider, baseUrl },
    name: found.endpoint.model,
    model: { ...found.model, endpoints: [found.endpoint] },
    secrets: [
      ...variables.map((variable) => [env[variable] ?? '', variable] as const),
      [provider.key ?? '', 'key'],
      [URL.parse(baseUrl)?.host ?? '', 'host'],
      ...Object.entries(provider.headers).map(([header, value]) => [value, header] as const),
    ],
  }
}

function firstAt({ models }: Config, provider: string): string | undefined {
  return Object.values(models)
    .filter(({ kind = 'generate' }) => kind === 'generate')
    .flatMap(({ endpoints }) => endpoints.filter((endpoint) => endpoint.provider === provider && !endpoint.model.includes('*')))
    .at(0)?.model
}

/** By its slug or the provider's own name; a model that the configuration has not is probed as a name and nothing more. */
function configured(
  { models }: Config,
  provider: string,
  wanted: string,
): { model: Omit<ModelConfig, 'endpoints'>; endpoint: EndpointConfig } {
  for (const [slug, { endpoints, ...model }] of Object.entries(models)) {
    const endpoint = endpoints.find(
      (each) => each.provider === provider && !each.model.includes('*') && (slug === wanted || each.model === wanted),
    )
    if (endpoint) return { model, endpoint: { ...endpoint, price: endpoint.price ?? 'snapshot' } }
  }
  return { model: {}, endpoint: { provider, model: wanted, price: 'snapshot' } }
}

/** A gateway's configuration with this one model, at an address that forwards to the provider. */
export function probeConfig({ provider, model }: Subject, address: string): { config: Config; key: string } {
  const secret = (): string => `sk-probe-${randomBytes(24).toString('hex')}`
  const key = secret()
  const text = `server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0, token: "${secret()}" }
store: { url: "memory:" }
auth: { keys: [ { name: probe, key: "${key}" } ] }
providers: { sim: { dialect: sim } }
models: { ${SLUG}: { endpoints: [{ provider: sim, model: echo }] } }
`
  const base = loadConfig('probe.yaml', {}, { text })
  const { credential } = provider
  const there = {
    ...provider,
    baseUrl: address,
    snapshotUrl: provider.snapshotUrl ?? provider.baseUrl,
    discover: false,
    // The forwarder hands the signature on to the provider.
    ...(credential ? { credential: { ...credential, signedFor: provider.baseUrl } } : {}),
  }
  return { config: { ...base, providers: [there], models: { [SLUG]: model } }, key }
}
