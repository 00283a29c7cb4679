/** A value for each parameter that is a plain one, by its row. */
import type { Json } from '../../src/core/json.ts'
import { isSampling, memberName, PARAMETERS, type ParameterName } from '../../src/core/parameters.ts'
import type { CanonicalRequest } from '../../src/dialects/canon/request.ts'

/** @returns a value that stands nowhere else in a request. */
export function readSample(name: ParameterName): Json {
  const { kind, range: [least, most] = [0, 0] } = PARAMETERS[name]
  if (kind === 'number') return least + (most - least) * 0.3171
  if (kind === 'integer') return most - least < 1000 ? least + 13 : 3011
  if (kind === 'boolean') return true
  if (kind === 'object') return { mk: `mk-${name}` }
  return kind === 'texts' ? [`mk-${name}`] : `mk-${name}`
}

/** A canonical request with the one parameter. */
export function requestWith(name: ParameterName): Partial<CanonicalRequest> {
  const member = { [memberName(name)]: readSample(name) }
  return isSampling(name) ? { sampling: member } : member
}
