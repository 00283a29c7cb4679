/** A submitted configuration as it may be planned with: without what a gateway opens, writes, calls or runs beside its requests. */
import type { Config } from '../../config/config.ts'
import type { Listing } from '../../routing/catalog/discovery.ts'

/** @param listings that are there already, by slug of the provider: nothing is fetched. */
export function harmless(config: Config, listings?: ReadonlyMap<string, Listing>): Config {
  const { path: _path, ...files } = config.store.files as { path?: string } & Config['store']['files']
  return {
    ...config,
    server: { ...config.server, host: '127.0.0.1' },
    store: { ...config.store, url: 'memory:', files },
    exports: [],
    events: { ...config.events, receivers: [] },
    telemetry: { resource: {}, traces: undefined, metrics: undefined, logs: undefined, problems: [] },
    providers: config.providers.map(({ credential: _credential, ...provider }) => ({
      ...provider,
      discover: provider.discover && listings?.has(provider.slug) === true,
    })),
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
