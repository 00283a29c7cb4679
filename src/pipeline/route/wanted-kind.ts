/** Which kind of model an operation calls, and what callers read that name one of another kind. */
import { Fault, type FaultCode, unknownModel } from '../../core/faults.ts'
import { nearestModels } from '../../routing/catalog/nearest-models.ts'
import type { Model, ModelKind } from '../../routing/catalog/types.ts'
import { allowsModel } from '../../routing/index.ts'
import type { ModelKinds } from '../attempt/model-kinds.ts'
import type { ChainSettings } from '../dependencies.ts'
import type { Accepted } from '../exchange.ts'

/** Kinds of model that an operation may call, with the fault of any other (docs/contract.md#model-names). */
export interface Wanted {
  readonly kind: 'generate' | 'embedding'
  readonly wrong: FaultCode
}

export const GENERATING: Wanted = { kind: 'generate', wrong: 'bad_request' }
export const EMBEDDING: Wanted = { kind: 'embedding', wrong: 'model_not_found' }

/** Operations by the kind of model that they call, for callers who took the wrong one. */
const OPERATIONS: Partial<Record<ModelKind, string>> = { generate: '/v1/chat/completions', embedding: '/v1/embeddings' }

type Found = NonNullable<ReturnType<ChainSettings['catalog']['find']>>

/**
 * A bare name too is a 404: agents send the provider's own, and Claude Code sends a request again six times after a 400 about it.
 * @throws Fault that names the nearest models which the key may use.
 */
export function unknown(slug: string, { auth: { key } }: Accepted, models: readonly Model[]): never {
  throw unknownModel(
    slug,
    nearestModels(slug, models, (near) => allowsModel(key.allowedModels, near)),
  )
}

export function ofKind(wanted: Wanted, slug: string, found: Found): Found {
  const { kind } = found.model
  if (kind === wanted.kind) return found
  const twin = wanted.kind === 'embedding' ? found.model.asEmbedding : undefined
  if (twin) return { ...found, model: twin }
  const is = kind === 'generate' ? 'is a model that generates text' : `does not generate text; it is an ${kind} model`
  throw wrongKind(slug, is, wanted, OPERATIONS[kind])
}

/** Models of a request, and what chooses among others. */
interface Chosen {
  readonly models: readonly Model[]
  readonly router?: unknown
}

/**
 * Leaves out models that their servers have refused as another kind than the wanted one, while there is another model.
 * @throws Fault 400, or 404 of embeddings, where there is none.
 */
export function ofShownKinds<Choice extends Chosen>(choice: Choice, wanted: Wanted, kinds: ModelKinds): Choice {
  const isLacking = (model: Model): boolean => model.unknownKind === true && kinds.lacks(model, wanted.kind)
  const first = choice.models.find(isLacking)
  if (!first) return choice
  const models = choice.models.filter((model) => !isLacking(model))
  if (models.length > 0 || choice.router) return { ...choice, models }
  const [is, other] = wanted === EMBEDDING ? (['does not embed', 'generate'] as const) : (['does not generate text', 'embedding'] as const)
  throw wrongKind(first.slug, `${is}, as its server answered`, wanted, OPERATIONS[other])
}

export function wrongKind(slug: string, is: string, wanted: Wanted, operation = OPERATIONS.generate): Fault {
  return new Fault(wanted.wrong, {
    message: `model: ${slug} ${is}`,
    metadata: { field: 'model' },
    availability: {
      code: 'wrong_endpoint',
      retryable: false,
      requested_models: [slug],
      ...(operation === undefined ? {} : { constraint: { field: 'model', detail: `served by ${operation}` } }),
    },
  })
}
