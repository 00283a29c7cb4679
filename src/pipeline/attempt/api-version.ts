/** The version of the API that a caller names: it goes on where the wire is the same; elsewhere one that is not known is recorded as lost. */
import type { Encoded, UpstreamDialect } from '../../dialects/types.ts'
import type { Accepted } from '../exchange.ts'

/** Name under which a version that was not sent is recorded. */
const NAME = 'anthropic-version'

export function nameVersion({ head, request }: Accepted, dialect: UpstreamDialect, encoded: Encoded): void {
  const { versions, id } = request.client
  const version = versions?.named(head.headers)
  if (!versions || version === undefined) return
  if (dialect.nameVersion && dialect.pass?.client === id) dialect.nameVersion(encoded, { version, sent: request.payload.sent })
  else if (!versions.isKnown(version)) encoded.dropped.push(NAME)
}
