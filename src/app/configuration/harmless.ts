/** A submitted configuration as it may be planned with: without what a gateway opens, writes, calls or runs beside its requests. */
import type { Config } from '../../config/config.ts'

export function harmless(config: Config): Config {
  const { path: _path, ...files } = config.store.files as { path?: string } & Config['store']['files']
  return {
    ...config,
    server: { ...config.server, host: '127.0.0.1' },
    store: { ...config.store, url: 'memory:', files },
    exports: [],
    events: { ...config.events, receivers: [] },
    telemetry: { resource: {}, traces: undefined, metrics: undefined, logs: undefined, problems: [] },
    providers: config.providers.map(({ credential: _credential, ...provider }) => ({ ...provider, discover: false })),
    // Plugins of the operator's own are not loaded for a text that came with a request.
    plugins: { ...config.plugins, load: [] },
    models: Object.fromEntries(
      Object.entries(config.models).map(([slug, model]) => [
        slug,
        { ...model, endpoints: model.endpoints.map(({ credential: _credential, ...endpoint }) => endpoint) },
      ]),
    ),
  }
}
