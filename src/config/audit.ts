/** Rules of `audit.sinks` that the schema cannot state. */
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'

const DESTINATIONS = ['file', 'syslog'] as const

export function checkSinks({ audit, store }: RawConfig, main: Source): void {
  const { sinks = [] } = audit ?? {}
  if (sinks.length > 0 && store?.url === 'memory:')
    main.report(['audit', 'sinks'], 'expected a store that keeps how far a sink has come: not memory:', 'key')
  const names = new Set<string>()
  for (const [index, { name, syslog, ...entry }] of sinks.entries()) {
    const at = ['audit', 'sinks', index]
    if (names.has(name)) main.report([...at, 'name'], 'expected a name of its own: another sink has it')
    names.add(name)
    if (DESTINATIONS.filter((each) => ({ ...entry, syslog })[each] !== undefined).length !== 1)
      main.report(at, `expected exactly one of ${DESTINATIONS.join(', ')}`)
    const { protocol = 'tls', tls } = syslog ?? {}
    if (tls && protocol !== 'tls') main.report([...at, 'syslog', 'tls'], 'expected no tls with this protocol: it is not encrypted', 'key')
    if (tls && (tls.certificate === undefined) !== (tls.key === undefined))
      main.report([...at, 'syslog', 'tls'], 'expected both certificate and key, or neither')
  }
}
