// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold variables of their own
/** Telemetry as the file and the environment state it together. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import type { TelemetrySettings } from '../../src/services/telemetry/settings.ts'
import { every } from '../support/every.ts'

function settings(telemetry: string, env: Record<string, string> = {}): TelemetrySettings {
  const text = `providers: { sim: { dialect: sim } }\nmodels: { a/b: { endpoints: [ { provider: sim, model: echo } ] } }\n${telemetry}`
  return loadConfig('f.yaml', env, { text }).telemetry
}

const HERE = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }

t.test('without an address nothing is exported', async (t) => {
  t.equal(settings('').traces, undefined)
  t.equal(settings('telemetry: { traces: { ratio: 1 } }').traces, undefined)
})

t.test('the file', async (t) => {
  const { traces, resource } = settings(
    'telemetry: { endpoint: "https://c.example/otlp", headers: { X-Key: "${KEY}" }, timeout: 3s, service_name: front, resource: { a: b }, queue: 1MB, traces: { ratio: 0.25, slow: 5s } }',
    {
      KEY: 'secret',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other',
      OTEL_TRACES_SAMPLER: 'always_off',
      OTEL_SERVICE_NAME: 'other',
      OTEL_RESOURCE_ATTRIBUTES: 'a=c,d=e%20f',
    },
  )
  t.strictSame(traces, {
    url: 'https://c.example/otlp/v1/traces',
    headers: { 'x-key': 'secret' },
    compression: 'none',
    timeout: 3_000,
    queue: 1024 * 1024,
    ratio: 0.25,
    followParent: false,
    onError: true,
    slow: 5_000,
  } satisfies TelemetrySettings['traces'])
  t.same(resource, { 'service.name': 'front', a: 'b', d: 'e f' })
})

t.test('the environment alone', async (t) => {
  const env = {
    ...HERE,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc, x-a = 1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-a=2',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    OTEL_SERVICE_NAME: 'gate',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  }
  const { traces, resource, problems } = settings('', env)
  t.match(traces, {
    url: 'http://collector:4318/v1/traces',
    headers: { authorization: 'Basic abc', 'x-a': '2' },
    compression: 'gzip',
    timeout: 2500,
    ratio: 0.5,
    followParent: false,
  })
  t.same(resource, { 'service.name': 'gate' })
  t.same(problems, [])
  const own = settings('', { ...HERE, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://spans/x' })
  t.equal(own.traces?.url, 'http://spans/x')
})

t.test('a key of the environment is not sent to an address of the file', async (t) => {
  const { traces } = settings('telemetry: { endpoint: "http://mine" }', { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=x' })
  t.same(traces?.headers, {})
})

t.test('switched off', async (t) => {
  await every(t, 'each way', async (t) => {
    t.equal(settings('', { ...HERE, OTEL_SDK_DISABLED: 'true' }).traces, undefined)
    t.equal(settings('telemetry: { endpoint: "http://mine" }', { OTEL_SDK_DISABLED: 'TRUE' }).traces, undefined)
    t.equal(settings('telemetry: { enabled: false }', HERE).traces, undefined)
    t.equal(settings('telemetry: { traces: { enabled: false } }', HERE).traces, undefined)
    t.equal(settings('', { ...HERE, OTEL_TRACES_EXPORTER: 'none' }).traces, undefined)
    t.ok(settings('', { ...HERE, OTEL_SDK_DISABLED: 'false' }).traces)
  })
})

t.test('metrics, where they are wanted', async (t) => {
  t.equal(settings('', HERE).metrics, undefined)
  t.equal(settings('telemetry: { metrics: { enabled: true } }').metrics, undefined, 'without an address')
  t.match(settings('telemetry: { metrics: { enabled: true, interval: 5s } }', HERE).metrics, {
    url: 'http://collector:4318/v1/metrics',
    interval: 5_000,
  })
  const env = {
    ...HERE,
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '1500',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m/x',
  }
  t.match(settings('', env).metrics, { url: 'http://m/x', interval: 1_500 })
  t.equal(settings('telemetry: { metrics: { enabled: false } }', env).metrics, undefined)
})

t.test('logs, where they are wanted', async (t) => {
  t.equal(settings('', HERE).logs, undefined)
  t.match(settings('telemetry: { logs: { enabled: true } }', HERE).logs, { url: 'http://collector:4318/v1/logs' })
  t.match(settings('', { ...HERE, OTEL_LOGS_EXPORTER: 'otlp' }).logs, { url: 'http://collector:4318/v1/logs' })
})

t.test('samplers by their names', async (t) => {
  const sampling = (name: string, more = {}): unknown => {
    const { traces } = settings('', { ...HERE, OTEL_TRACES_SAMPLER: name, ...more })
    return [traces?.ratio, traces?.followParent]
  }
  const half = { OTEL_TRACES_SAMPLER_ARG: '0.5' }
  await every(t, 'each', async (t) => {
    t.same(sampling('always_on', half), [1, false])
    t.same(sampling('always_off', half), [0, false])
    t.same(sampling('parentbased_always_on', half), [1, true])
    t.same(sampling('parentbased_always_off', half), [0, true])
    t.same(sampling('parentbased_traceidratio', half), [0.5, true])
    t.same(sampling('traceidratio'), [1, false])
  })
})

t.test('what cannot be followed is said, without its value', async (t) => {
  const problem = (env: Record<string, string>): string => settings('', { ...HERE, ...env }).problems.join()
  await every(t, 'each', async (t) => {
    t.match(problem({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), /OTEL_EXPORTER_OTLP_PROTOCOL/)
    t.equal(settings('', { ...HERE, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).traces, undefined)
    t.match(problem({ OTEL_TRACES_SAMPLER: 'xray' }), /OTEL_TRACES_SAMPLER/)
    t.match(problem({ OTEL_TRACES_SAMPLER_ARG: '7' }), /OTEL_TRACES_SAMPLER_ARG/)
    t.match(problem({ OTEL_TRACES_EXPORTER: 'zipkin' }), /OTEL_TRACES_EXPORTER/)
    t.match(problem({ OTEL_EXPORTER_OTLP_HEADERS: 'sk-secret' }), /OTEL_EXPORTER_OTLP_HEADERS/)
    t.notMatch(problem({ OTEL_EXPORTER_OTLP_HEADERS: 'sk-secret' }), /sk-secret/)
    t.match(problem({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }), /OTEL_EXPORTER_OTLP_ENDPOINT/)
    t.match(problem({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:pass@collector' }), /OTEL_EXPORTER_OTLP_ENDPOINT/)
  })
})
