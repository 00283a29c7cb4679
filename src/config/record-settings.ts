/** Settings of the configuration that say how long records are kept and where they go, for the report of the audit log. */
import type { Config } from './config.ts'

export function recordSettings({ audit, store, exports }: Config) {
  return { audit, generations: { retention: store.retention }, exports }
}
