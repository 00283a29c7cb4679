/** Rules of `exports` that the schema cannot state. */
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'

const DESTINATIONS = ['file', 's3', 'clickhouse'] as const

export function checkExports({ exports = [], store }: RawConfig, main: Source): void {
  if (exports.length > 0 && store?.url === 'memory:')
    main.report(['exports'], 'expected a store that keeps how far an export has come: not memory:', 'key')
  const names = new Set<string>()
  for (const [index, { name, path, s3, ...entry }] of exports.entries()) {
    const at = ['exports', index]
    if (names.has(name)) main.report([...at, 'name'], 'expected a name of its own: another export has it')
    names.add(name)
    if (DESTINATIONS.filter((each) => ({ ...entry, s3 })[each] !== undefined).length !== 1)
      main.report(at, `expected exactly one of ${DESTINATIONS.join(', ')}`)
    if (path !== undefined && !path.includes('{batch}'))
      main.report([...at, 'path'], 'expected {batch} in it: batches would replace each other')
    if (path?.split('/').some((part) => part === '' || part === '.' || part === '..'))
      main.report([...at, 'path'], 'expected a path without empty parts, . and ..')
    if (s3 && (s3.access_key_id === undefined) !== (s3.secret_access_key === undefined))
      main.report([...at, 's3'], 'expected both access_key_id and secret_access_key, or neither')
  }
}
