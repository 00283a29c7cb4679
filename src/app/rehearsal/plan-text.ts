/** Plans a request that is a text: the chain of plans, without a socket. */
import type { Config } from '../../config/config.ts'
import type { GenerationIds } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { clientDialects } from '../../dialects/registry.ts'
import { composeChain } from '../../pipeline/chain.ts'
import type { ChainDependencies, ChainSettings } from '../../pipeline/dependencies.ts'
import { Exchange } from '../../pipeline/exchange.ts'
import type { Plan } from '../../pipeline/plan/answer.ts'
import { dialectByBody, type PlanFormat, planDialects } from '../../pipeline/plan/format.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import { TextConnection } from '../text-connection.ts'

export interface RehearsedRequest {
  /** JSON text of a generation body. */
  text: string
  /** The key that sends the request, or its name; by default the first that may generate. */
  key?: string | ApiKey | undefined
  /** By default recognised from the body. */
  format?: PlanFormat | undefined
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>> | undefined
}

export type Rehearsed = { kind: 'plan'; plan: Plan } | { kind: 'refused'; status: number; body: JsonObject }

export interface PlanParts {
  settings: ChainSettings
  dependencies: ChainDependencies
  ids: GenerationIds
  config: Config
}

export async function planText(request: RehearsedRequest, { settings, dependencies, ids, config }: PlanParts): Promise<Rehearsed> {
  const { clock } = dependencies
  const connection = new TextConnection(request.text)
  const embeds = (slug: string): boolean => settings.catalog.find(slug)?.model.kind === 'embedding'
  const at = clock.now()
  const exchange = new Exchange({
    id: ids.next(at),
    at,
    client: dialectByBody(planDialects(clientDialects), request.format ?? null, embeds),
    headers: { ...request.headers, authorization: 'Bearer rehearsal' },
    connection,
    clock,
    config,
    wantsMetadata: false,
  })
  let unexpected: unknown
  const recordExchange: typeof dependencies.recordExchange = (_exchange, { fault }) => {
    if (fault?.code === 'internal') unexpected = fault.cause
  }
  await composeChain('plan', settings, { ...dependencies, recordExchange })(exchange)
  if (unexpected !== undefined) throw unexpected
  const body = JSON.parse(connection.replyText) as JsonObject
  return connection.status === 200 ? { kind: 'plan', plan: body as unknown as Plan } : { kind: 'refused', status: connection.status, body }
}
