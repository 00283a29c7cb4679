/** Exports by OTLP. Settings that the environment may state, too, have no default here. */
import { Type } from 'typebox'
import { choiceField, closed, duration, flag, line, mapField, size, url, withDefault } from '../fields/scalars.ts'

const headers = (description: string) =>
  mapField(
    description,
    '^[A-Za-z0-9_-]{1,64}$',
    'a header name',
    Type.String({ description: 'Value.', pattern: '^[\\x20-\\x7e]{0,4096}$', secret: true, expected: 'visible ASCII text' }),
  )

export const telemetry = closed(
  'Traces, metrics and logs for OpenTelemetry, sent by OTLP over HTTP; see [observability.md](observability.md).',
  {
    enabled: withDefault(flag('False: nothing is exported, whatever the environment states.'), true),
    endpoint: Type.Optional(
      url(
        'Address of the collector without the path of a signal, such as `http://127.0.0.1:4318`; `/v1/traces` is added. If unset: OTEL_EXPORTER_OTLP_ENDPOINT; without either, nothing is exported.',
      ),
    ),
    headers: Type.Optional(headers('Headers of every export, such as a key of the backend. If unset: OTEL_EXPORTER_OTLP_HEADERS.')),
    compression: Type.Optional(choiceField('Of the exports. If unset: OTEL_EXPORTER_OTLP_COMPRESSION, else `none`.', ['none', 'gzip'])),
    timeout: Type.Optional(duration('Time limit of one export. If unset: OTEL_EXPORTER_OTLP_TIMEOUT, else 10s.')),
    service_name: Type.Optional(line('`service.name` of all that is exported. If unset: OTEL_SERVICE_NAME, else `headgate`.')),
    resource: withDefault(
      mapField(
        'Attributes of the resource, such as `deployment.environment.name`. They come on top of OTEL_RESOURCE_ATTRIBUTES.',
        '^[A-Za-z0-9._-]{1,128}$',
        'a name such as deployment.environment.name',
        line('Value.', 256),
      ),
      {},
    ),
    queue: withDefault(size('Memory for what waits to be sent. What finds no room is dropped and counted.'), '16MB'),
    traces: withDefault(
      closed('Spans of requests.', {
        enabled: withDefault(flag('False: requests are not traced.'), true),
        endpoint: Type.Optional(
          url('Whole address for spans alone, such as `https://otlp.example.com/v1/traces`. If unset: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.'),
        ),
        ratio: Type.Optional(
          Type.Number({
            description:
              'Share of the requests that are traced, 0 to 1, where the caller sends no `traceparent`. If unset: by OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, else 1.',
            minimum: 0,
            maximum: 1,
          }),
        ),
        follow_parent: Type.Optional(
          flag(
            'True: a caller with a key that sends `traceparent` decides by its flag whether the request is traced. If unset: by OTEL_TRACES_SAMPLER, else true.',
          ),
        ),
        on_error: withDefault(
          flag(
            'True: a request that ends in an error of the gateway or of a provider, or that a provider failed on the way, is traced in any case.',
          ),
          true,
        ),
        slow: Type.Optional(duration('A request that takes at least this long is traced in any case. If unset: none is for its length.')),
      }),
      {},
    ),
    metrics: withDefault(
      closed('Metrics by OTLP, beside those for Prometheus.', {
        enabled: Type.Optional(flag('True: metrics are sent. If unset: where OTEL_METRICS_EXPORTER is `otlp`.')),
        endpoint: Type.Optional(
          url(
            'Whole address for metrics alone, such as `https://otlp.example.com/v1/metrics`. If unset: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT.',
          ),
        ),
        interval: Type.Optional(duration('Time between two exports. If unset: OTEL_METRIC_EXPORT_INTERVAL, else 60s.')),
      }),
      {},
    ),
    logs: withDefault(
      closed('The lines of the log by OTLP, beside standard output.', {
        enabled: Type.Optional(flag('True: they are sent. If unset: where OTEL_LOGS_EXPORTER is `otlp`.')),
        endpoint: Type.Optional(
          url('Whole address for logs alone, such as `https://otlp.example.com/v1/logs`. If unset: OTEL_EXPORTER_OTLP_LOGS_ENDPOINT.'),
        ),
      }),
      {},
    ),
  },
)
