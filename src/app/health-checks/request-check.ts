/**
 * A check by a request of the gateway's own: the smallest one, with a fixed text, through the chain that requests of callers take. So its
 * outcome counts in the health of the endpoint as that of a second key, and its cost stands in the ledger, under a key that no caller has.
 */
import type { Config } from '../../config/config.ts'
import { FAULTS } from '../../core/faults.ts'
import type { GenerationIds } from '../../core/ids.ts'
import { chatClient } from '../../dialects/chat/index.ts'
import { embeddingsClient } from '../../dialects/embeddings/check.ts'
import { composeChain } from '../../pipeline/chain.ts'
import type { ChainDependencies, ChainSettings } from '../../pipeline/dependencies.ts'
import { Exchange } from '../../pipeline/exchange.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import { TextConnection } from '../text-connection.ts'
import type { CheckResult } from './list-check.ts'

/** Identity and name of the key of the gateway's own requests; no key of the configuration can have this name. */
export const CHECK_KEY = 'health checks'

/** Faults that say that the endpoint fails. */
const COUNTED: ReadonlySet<string> = new Set(Object.entries(FAULTS).flatMap(([code, { counts }]) => (counts === 'no' ? [] : [code])))

const TEXT = 'Reply with the word OK.'
/** OpenAI's Responses API takes no smaller cap (openapi.yaml of github.com/openai/openai-openapi, `max_output_tokens`). */
const MAX_OUTPUT = 16

/** @param limit nano-dollars that all checks of a day may cost. */
export function checkKey(limit: number): ApiKey {
  return {
    identity: CHECK_KEY,
    hash: '',
    label: '',
    name: CHECK_KEY,
    role: 'member',
    disabled: false,
    limit,
    limitReset: 'daily',
    expiresAt: null,
    allowedModels: undefined,
    provider: undefined,
    limits: {},
    passThrough: false,
  }
}

interface CheckParts {
  /** Without guardrails and plugins: these are for what callers send. */
  readonly settings: ChainSettings
  readonly dependencies: ChainDependencies
  readonly ids: GenerationIds
  readonly config: Config
}

/** @returns undefined where the outcome says nothing of the endpoint. */
export async function checkByRequest(
  endpoint: Endpoint,
  { settings, dependencies, ids, config }: CheckParts,
): Promise<CheckResult | undefined> {
  const { clock } = dependencies
  const isEmbedding = endpoint.model.kind === 'embedding'
  const connection = new TextConnection(JSON.stringify(bodyFor(endpoint, isEmbedding)))
  const at = clock.now()
  const exchange = new Exchange({
    id: ids.next(at),
    at,
    client: isEmbedding ? embeddingsClient : chatClient,
    headers: { authorization: 'Bearer health-check' },
    connection,
    clock,
    config,
    wantsMetadata: false,
  })
  await composeChain(isEmbedding ? 'embed' : 'generate', settings, dependencies)(exchange)
  const last = exchange.history.attempts.at(-1)
  if (last?.endpoint !== endpoint.id) return undefined
  if (connection.status === 200) return { isWell: true }
  return COUNTED.has(last.code ?? '') ? { isWell: false } : undefined
}

function bodyFor(endpoint: Endpoint, isEmbedding: boolean) {
  const { slug } = endpoint.model
  const provider = { only: [endpointTag(endpoint)], allow_fallbacks: false }
  return isEmbedding
    ? { model: slug, input: TEXT, provider }
    : { model: slug, messages: [{ role: 'user', content: TEXT }], max_tokens: MAX_OUTPUT, provider }
}
