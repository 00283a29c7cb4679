import { Fault, isObject, type Model, type Plugin, type Read, type RouterChoice, type RouterView } from '../../src/plugin-api/index.ts'
import { classify } from './classify.ts'
import { type AutoConfig, parseConfig } from './config.ts'
import { withinCost } from './cost.ts'
import { requestPrompt } from './prompt.ts'
import { bestFirst, listed, ranked } from './ranking.ts'
import type { Task } from './tasks.ts'

/** The primary model and its fallbacks. */
const MAX_MODELS = 3

export const autoRouter: Plugin<AutoConfig> = {
  id: 'auto-router',
  parse: parseConfig,
  router: { names: ['auto'], strategy: 'auto', choose },
}

/** @throws Fault 404 where the lists leave no model. */
function choose(exchange: Read, config: AutoConfig, view: RouterView): RouterChoice {
  const task = config.enabled ? classifyTask(exchange) : 'general'
  const named = listed(view.models, config)
  if (named.length === 0) throw noMatch(exchange, config, view)
  const candidates = withinCost(ranked(named, config), config, view)
  const kept = keptModel(exchange, config, { named, candidates, view })
  const order = bestFirst(candidates, task, view).filter((model) => model !== kept)
  const models = (kept ? [kept, ...order] : order).slice(0, MAX_MODELS)
  const [first] = models
  if (!first) throw noMatch(exchange, config, view)
  return {
    models,
    data: { task_type: task },
    summary: `${task}: ${first.slug}${kept ? ' (kept from the conversation)' : ''}, out of ${candidates.length}`,
  }
}

/** A prompt that cannot be sorted is a general one: the choice is never the reason why a request fails. */
function classifyTask(exchange: Read): Task {
  try {
    return classify(requestPrompt(exchange.request())).task
  } catch {
    return 'general'
  }
}

/**
 * The model that the conversation stays with. A pinned one needs only the lists: the model that the last assistant turn
 * names, or else the sticky one. Without a pin it is the sticky one, while the cost rule leaves it too.
 */
function keptModel(
  exchange: Read,
  { pin }: AutoConfig,
  { named, candidates, view }: { named: readonly Model[]; candidates: readonly Model[]; view: RouterView },
): Model | undefined {
  const among = pin ? named : candidates
  const lastSlug = pin ? lastModel(exchange) : undefined
  const pinned = lastSlug === undefined ? undefined : among.find((model) => model.slug === lastSlug)
  return pinned ?? (view.sticky && among.includes(view.sticky) ? view.sticky : undefined)
}

/** `model` of the last assistant message, which clients may send back as they got it. */
function lastModel({ body }: Read): string | undefined {
  const turns = Array.isArray(body.messages) ? body.messages : body.input
  if (!Array.isArray(turns)) return undefined
  const last = turns.findLast((turn) => isObject(turn) && turn.role === 'assistant')
  return isObject(last) && typeof last.model === 'string' ? last.model : undefined
}

function noMatch({ gateway }: Read, { path }: AutoConfig, view: RouterView): Fault {
  const field = `${path}.allowed_models`
  return new Fault('model_not_found', {
    message: `no models match: ${field} and excluded_models leave none of the ${view.models.length} that could serve this request`,
    metadata: { field },
    availability: {
      code: 'constraint_filtered',
      retryable: false,
      requested_models: gateway.model === undefined ? [] : [gateway.model],
      constraint: { field, detail: 'no models match' },
    },
  })
}
