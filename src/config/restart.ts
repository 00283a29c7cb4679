/** What a reload cannot change. */
import type { Config } from './config.ts'

/** Values that a process reads once, when it opens its listeners and its store. */
function fixed(config: Config): [name: string, value: string | number][] {
  const { server, admin, store, shared } = config
  return [
    ['server.host', server.host],
    ['server.port', server.port],
    ['server.max_headers', server.maxHeaders],
    ['server.keep_alive', server.keepAlive],
    ['server.header_timeout', server.headerTimeout],
    ['server.body_timeout', server.bodyTimeout],
    ['server.trusted_proxies', server.trustedProxies.join(', ')],
    ['server.proxy_protocol', String(server.proxyProtocol)],
    ['server.auth_failures', `${server.authFailures.burst}, ${server.authFailures.perMinute}`],
    ['admin.host', admin.host],
    ['admin.port', admin.port],
    ['admin.token', admin.token ?? ''],
    ['admin.socket', admin.socket ?? ''],
    ['admin.health_port', admin.healthPort ?? -1],
    ['store.url', store.url],
    ['store.durability', store.durability],
    ['store.journal', store.journal],
    ['store.retention', store.retention ?? 0],
    ['store.lost_grace', store.lostGrace],
    ['store.files.path', store.files.path ?? ''],
    ['store.files.max_file', store.files.maxFile],
    ['store.files.max_bytes', store.files.maxBytes],
    ['shared.url', shared.url ?? ''],
  ]
}

/** Names of the settings that differ and need a restart; empty where a reload will do. */
export function restartReasons(old: Config, next: Config): string[] {
  const after = new Map(fixed(next))
  return fixed(old)
    .filter(([name, value]) => after.get(name) !== value)
    .map(([name]) => name)
}
