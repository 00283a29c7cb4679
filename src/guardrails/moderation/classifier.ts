/**
 * A model of the Llama Guard family behind an endpoint of OpenAI's chat format. Its answer, as its makers publish it, is
 * `safe`, or `unsafe` and in the next line the codes of the categories: `S1,S10`. Judged is the last turn, so an answer is
 * put behind a turn of the user.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { postJson } from '../engine-call.ts'
import { joinAddress } from './address.ts'
import type { Moderator } from './moderator.ts'
import { runAll, textSlices } from './slices.ts'
import type { ModerationSettings, Reason } from './types.ts'

/** Of the answer: codes of all categories that there are. */
const TOKENS = 64
/** The user message that precedes an answer whose question is not sent. */
const QUESTION: JsonObject = { role: 'user', content: 'Please answer.' }
const CODE = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/

/** @throws TypeError for settings without address or model. */
export function classifierModerator(settings: ModerationSettings): Moderator {
  const { url, key, timeout, model, ignored = [] } = settings
  if (url === undefined || model === undefined) throw new TypeError('a classifier needs url and model')
  const call = { url: joinAddress(url, 'chat/completions'), key, timeout }
  return {
    name: 'classifier',
    async judge(texts, direction, context) {
      const judged = await runAll(textSlices(texts), async (slice) => {
        const own: JsonObject = { role: direction === 'input' ? 'user' : 'assistant', content: slice.part }
        const messages = direction === 'input' ? [own] : [QUESTION, own]
        const reasons = answerReasons(await postJson(call, { model, messages, temperature: 0, max_tokens: TOKENS }, context), ignored)
        return reasons.length > 0 ? [{ ...slice, reasons, matched: [] }] : []
      })
      return judged.flat()
    },
  }
}

/** @throws Error for an answer of another form: an unreadable answer must not count as permission. */
function answerReasons(answer: Json, ignored: readonly string[]): Reason[] {
  const [verdict = '', ...lines] = answerWords(answer)
    .trim()
    .split(/\s*\n\s*/)
  if (/^safe$/i.test(verdict)) return []
  if (!/^unsafe$/i.test(verdict)) throw new Error('unreadable')
  const codes = lines
    .join(',')
    .split(/[\s,]+/)
    .filter((code) => code !== '')
  if (!codes.every((code) => CODE.test(code))) throw new Error('unreadable')
  if (codes.length === 0) return [{ category: 'unsafe' }]
  return codes.filter((code) => !ignored.includes(code)).map((category) => ({ category }))
}

function answerWords(answer: Json): string {
  const choice = isObject(answer) && Array.isArray(answer.choices) ? answer.choices[0] : undefined
  const message = isObject(choice) ? choice.message : undefined
  if (!isObject(message) || typeof message.content !== 'string') throw new Error('unreadable')
  return message.content
}
