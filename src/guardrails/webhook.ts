/** A plain webhook: it receives the texts and returns an action. The format is headgate's own, described in the docs. */
import { isObject, type Json } from '../core/json.ts'
import type { EngineQuestion, EngineVerdict, ExternalEngine, ServiceSettings } from './engine.ts'
import { postJson } from './engine-call.ts'
import type { Action } from './settings/recognisers.ts'

const ACTIONS: Readonly<Record<string, Action>> = { flag: 'flag', redact: 'redact', block: 'block' }
const NOTHING: EngineVerdict = { entities: [], patterns: [], replaced: new Map() }
/** Lines of a report, and characters of each. */
const MAX_LINES = 20
const MAX_LINE_LENGTH = 500

export function webhookEngine(settings: ServiceSettings): ExternalEngine {
  const { url, key, timeout } = settings
  return {
    name: 'webhook',
    open: settings.open,
    async ask(question: EngineQuestion, context): Promise<EngineVerdict> {
      const { texts, guardrail, model, direction } = question
      const body = { guardrail, key: question.key, model, direction, texts: [...texts] }
      return answerVerdict(await postJson({ url, key, timeout }, body, context), texts, settings.action)
    },
  }
}

/** @throws Error for an answer of another form: an unreadable answer must not count as permission. */
function answerVerdict(answer: Json, texts: readonly string[], usual: Action): EngineVerdict {
  if (!isObject(answer) || typeof answer.flagged !== 'boolean') throw new Error('unreadable')
  if (!answer.flagged) return NOTHING
  const named = typeof answer.action === 'string' ? ACTIONS[answer.action] : usual
  if (named === undefined) throw new Error('unreadable')
  const replaced = new Map<string, string>()
  if (named === 'redact') {
    const { texts: others } = answer
    if (!Array.isArray(others) || others.length !== texts.length || !others.every((text) => typeof text === 'string'))
      throw new Error('unreadable')
    for (const [i, text] of texts.entries()) if (others[i] !== text) replaced.set(text, String(others[i]))
  }
  const label = typeof answer.label === 'string' ? { label: answer.label.slice(0, 100) } : {}
  return { action: named, entities: asLines(answer.reasons), patterns: asLines(answer.patterns), replaced, ...label }
}

function asLines(value: Json | undefined): string[] {
  if (!Array.isArray(value)) return []
  return value
    .filter((line) => typeof line === 'string')
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE_LENGTH))
}
