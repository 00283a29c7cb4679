/**
 * Telemetry as the file and the environment state it together: the file takes precedence, `OTEL_SDK_DISABLED` over both. The variables
 * are those of the OpenTelemetry specification 1.56 ("Environment Variable Specification", "OpenTelemetry Protocol Exporter").
 */
import type { OtlpTarget, TelemetrySettings, TraceSettings } from '../services/telemetry/settings.ts'
import type { Environment } from './expand.ts'
import type { Resolved } from './resolved.ts'
import type { telemetry } from './schema/telemetry.ts'

type Written = Resolved<typeof telemetry>

const TIMEOUT = 10_000
const INTERVAL = 60_000

/** Metrics and logs only where they are named: most backends of traces take neither, and both are to be had in other ways. */
export function telemetryConfig(written: Written, env: Environment): TelemetrySettings {
  const problems: string[] = []
  const resource = {
    'service.name': 'headgate',
    ...pairs('OTEL_RESOURCE_ATTRIBUTES', env, problems),
    ...named('service.name', variable(env, 'OTEL_SERVICE_NAME')),
    ...written.resource,
    ...named('service.name', written.serviceName),
  }
  const off = !written.enabled || variable(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const traces = off || !written.traces.enabled ? undefined : signalTarget('traces', written, { env, problems })
  const wanted = (signal: 'metrics' | 'logs'): boolean =>
    !off && (written[signal].enabled ?? variable(env, `OTEL_${signal.toUpperCase()}_EXPORTER`) === 'otlp')
  const metrics = !wanted('metrics') ? undefined : signalTarget('metrics', written, { env, problems })
  const interval = written.metrics.interval ?? (positive(variable(env, 'OTEL_METRIC_EXPORT_INTERVAL')) || INTERVAL)
  return {
    resource,
    traces: traces && { ...traces, ...readSampling(written, env, problems) },
    metrics: metrics && { ...metrics, interval },
    logs: wanted('logs') ? signalTarget('logs', written, { env, problems }) : undefined,
    problems: off ? [] : problems,
  }
}

interface Surroundings {
  env: Environment
  problems: string[]
}

/** @returns undefined where no address is stated, or the environment wants it sent in another way. */
function signalTarget(signal: 'traces' | 'metrics' | 'logs', written: Written, { env, problems }: Surroundings): OtlpTarget | undefined {
  const upper = signal.toUpperCase()
  const either = (name: string): string | undefined =>
    variable(env, `OTEL_EXPORTER_OTLP_${upper}_${name}`) ?? variable(env, `OTEL_EXPORTER_OTLP_${name}`)
  const inFile = written[signal].endpoint ?? (written.endpoint && withPath(written.endpoint, signal))
  if (inFile === undefined) {
    const exporter = variable(env, `OTEL_${upper}_EXPORTER`)
    if (exporter === 'none') return undefined
    if (exporter !== undefined && exporter !== 'otlp') {
      problems.push(`OTEL_${upper}_EXPORTER: only otlp and none are known`)
      return undefined
    }
  }
  const url = inFile ?? signalAddress(signal, upper, { env, problems })
  if (url === undefined) return undefined
  const protocol = either('PROTOCOL')
  if (inFile === undefined && protocol !== undefined && protocol !== 'http/protobuf' && protocol !== 'http/json') {
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: ${signal} are sent by http/protobuf alone; name the HTTP port of the collector, mostly 4318`,
    )
    return undefined
  }
  const compression = written.compression ?? (either('COMPRESSION') === 'gzip' ? 'gzip' : 'none')
  const timeout = written.timeout ?? (positive(either('TIMEOUT')) || TIMEOUT)
  // A key that belongs to another address is not sent to that of the file.
  const headers = written.headers ?? (inFile === undefined ? otlpHeaders(upper, { env, problems }) : {})
  return { url, headers: lowerCased(headers), compression, timeout, queue: written.queue }
}

function signalAddress(signal: string, upper: string, { env, problems }: Surroundings): string | undefined {
  const own = variable(env, `OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`)
  const base = variable(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const url = own ?? (base && withPath(base, signal))
  if (url === undefined) return undefined
  const { protocol = '', username = '', password = '' } = URL.canParse(url) ? new URL(url) : {}
  if (/^https?:$/.test(protocol) && username === '' && password === '') return url
  problems.push(`OTEL_EXPORTER_OTLP_ENDPOINT: expected an http or https address for ${signal}, without a name and a password`)
  return undefined
}

function otlpHeaders(upper: string, { env, problems }: Surroundings): Record<string, string> {
  return {
    ...pairs('OTEL_EXPORTER_OTLP_HEADERS', env, problems),
    ...pairs(`OTEL_EXPORTER_OTLP_${upper}_HEADERS`, env, problems),
  }
}

const withPath = (base: string, signal: string): string => `${base.replace(/\/+$/, '')}/v1/${signal}`

type Sampling = Pick<TraceSettings, 'ratio' | 'followParent' | 'onError' | 'slow'>

/** Shares by the names of samplers; `undefined` stands for the argument. */
const SAMPLERS: Readonly<Record<string, { ratio: number | undefined; followParent: boolean }>> = {
  always_on: { ratio: 1, followParent: false },
  always_off: { ratio: 0, followParent: false },
  traceidratio: { ratio: undefined, followParent: false },
  parentbased_always_on: { ratio: 1, followParent: true },
  parentbased_always_off: { ratio: 0, followParent: true },
  parentbased_traceidratio: { ratio: undefined, followParent: true },
}

function readSampling({ traces }: Written, env: Environment, problems: string[]): Sampling {
  const name = variable(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const sampler = SAMPLERS[name]
  if (!sampler) problems.push(`OTEL_TRACES_SAMPLER: expected one of ${Object.keys(SAMPLERS).join(', ')}`)
  const argument = Number(variable(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1)
  const isShare = argument >= 0 && argument <= 1
  if (!isShare) problems.push('OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1')
  const { ratio = isShare ? argument : 1, followParent = true } = sampler ?? { ratio: 1 }
  return {
    ratio: traces.ratio ?? ratio,
    followParent: traces.followParent ?? followParent,
    onError: traces.onError,
    slow: traces.slow,
  }
}

/** An empty variable counts as not set. */
function variable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

const named = (name: string, value: string | undefined): Record<string, string> => (value === undefined ? {} : { [name]: value })

const positive = (text: string | undefined): number => (text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0)

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** `name=value,name=value`, with values in percent encoding. What is malformed is left out, and named without its value. */
function pairs(name: string, env: Environment, problems: string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const pair of variable(env, name)?.split(',') ?? []) {
    const at = pair.indexOf('=')
    const key = pair.slice(0, Math.max(0, at)).trim()
    const value = decoded(pair.slice(at + 1).trim())
    if (/^[\w.\-/]{1,128}$/.test(key) && value !== undefined) found[key] = value
    else if (pair.trim() !== '') problems.push(`${name}: expected name=value, name=value`)
  }
  return found
}

function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text)
    return /^[\x20-\x7e]{0,4096}$/.test(value) ? value : undefined
  } catch {
    return undefined
  }
}
