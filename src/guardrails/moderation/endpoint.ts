/** An endpoint of the format of OpenAI's `POST /v1/moderations`: a model and texts there, categories and scores back. */
import { entryAt } from '../../core/entry-at.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { postJson } from '../engine-call.ts'
import { joinAddress } from './address.ts'
import type { Moderator } from './moderator.ts'
import { runAll, type Slice, sliceBatches, textSlices } from './slices.ts'
import type { Judgement, ModerationSettings, Reason } from './types.ts'

const USUAL_URL = 'https://api.openai.com/v1/moderations'
const USUAL_MODEL = 'omni-moderation-latest'
/** Of one call. */
const MAX_INPUTS = 16
const MAX_UNITS = 32_000

export function endpointModerator(settings: ModerationSettings): Moderator {
  const { url = USUAL_URL, key, timeout, model = USUAL_MODEL } = settings
  const call = { url: joinAddress(url, 'moderations'), key, timeout }
  return {
    name: 'openai',
    async judge(texts, _direction, context) {
      const batches = sliceBatches(textSlices(texts), MAX_INPUTS, MAX_UNITS)
      const judged = await runAll(batches, async (batch) => {
        const input = batch.map(({ part }) => part)
        return judgements(await postJson(call, { model, input }, context), batch, settings)
      })
      return judged.flat()
    },
  }
}

/** @throws Error for an answer of another form: an unreadable answer must not count as permission. */
function judgements(answer: Json, batch: readonly Slice[], settings: ModerationSettings): Judgement[] {
  if (!isObject(answer) || !Array.isArray(answer.results) || answer.results.length !== batch.length) throw new Error('unreadable')
  return answer.results.flatMap((result, i) => {
    const reasons = resultReasons(result, settings)
    return reasons.length > 0 ? [{ ...entryAt(batch, i), reasons, matched: [] }] : []
  })
}

function resultReasons(result: Json, { thresholds = {}, ignored = [] }: ModerationSettings): Reason[] {
  if (!isObject(result) || typeof result.flagged !== 'boolean') throw new Error('unreadable')
  const categories: JsonObject = isObject(result.categories) ? result.categories : {}
  const scores: JsonObject = isObject(result.category_scores) ? result.category_scores : {}
  const names = new Set([...Object.keys(categories), ...Object.keys(scores)])
  // A service that returns no categories.
  if (names.size === 0) return result.flagged ? [{ category: 'flagged' }] : []
  const reasons: Reason[] = []
  for (const category of names) {
    if (ignored.includes(category)) continue
    const { [category]: score } = scores
    const least = Object.hasOwn(thresholds, category) ? thresholds[category] : undefined
    const scored = typeof score === 'number' ? { category, score } : { category }
    if (least !== undefined && typeof score === 'number' ? score >= least : categories[category] === true) reasons.push(scored)
  }
  return reasons.sort((a, b) => (b.score ?? 0) - (a.score ?? 0))
}
