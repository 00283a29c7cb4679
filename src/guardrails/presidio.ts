/** An analyser with the format of Microsoft Presidio: `POST /analyze`, one text at a time. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { EngineContext, EngineQuestion, EngineVerdict, ExternalEngine, ServiceSettings } from './engine.ts'
import { postJson } from './engine-call.ts'
import { redacted, type Span } from './redaction.ts'

/** Calls that run at once for one request. */
const AT_ONCE = 4
const MATCHES = 20
/** Its names of the entities that our own recognisers find as well. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  EMAIL_ADDRESS: '[EMAIL]',
  PHONE_NUMBER: '[PHONE]',
  US_SSN: '[SSN]',
  CREDIT_CARD: '[CREDIT_CARD]',
  IP_ADDRESS: '[IP_ADDRESS]',
  PERSON: '[PERSON_NAME]',
  LOCATION: '[ADDRESS]',
  IBAN_CODE: '[IBAN]',
}

interface Found {
  readonly entity: string
  readonly start: number
  readonly end: number
}

export function presidioEngine(settings: ServiceSettings): ExternalEngine {
  const call = { url: `${settings.url.replace(/\/+$/, '')}/analyze`, key: settings.key, timeout: settings.timeout }
  const parameters: JsonObject = { language: settings.language }
  if (settings.entities) parameters.entities = [...settings.entities]
  if (settings.threshold !== undefined) parameters.score_threshold = settings.threshold
  const analyse = async (text: string, context: EngineContext): Promise<Found[]> =>
    foundIn(await postJson(call, { ...parameters, text }, context), text)
  return {
    name: 'presidio',
    open: settings.open,
    async ask({ texts }: EngineQuestion, context): Promise<EngineVerdict> {
      const distinct = [...new Set(texts)].filter((text) => text.trim() !== '')
      const entities = new Set<string>()
      const patterns = new Set<string>()
      const replaced = new Map<string, string>()
      const rest = distinct.values()
      const work = async (): Promise<void> => {
        for (const text of rest) {
          const found = await analyse(text, context)
          if (found.length === 0) continue
          for (const { entity, start, end } of found) {
            entities.add(entity)
            if (patterns.size < MATCHES) patterns.add(text.slice(start, end))
          }
          replaced.set(text, redacted(text, found.map(foundSpan)))
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      const action = replaced.size > 0 ? settings.action : undefined
      return { action, entities: [...entities], patterns: [...patterns], label: [...entities].join(', '), replaced }
    },
  }
}

function foundSpan({ entity, start, end }: Found): Span {
  return { start, end, placeholder: PLACEHOLDERS[entity] ?? `[${entity}]` }
}

/** Its offsets count characters, not UTF-16 units. @throws Error for an answer of another form. */
function foundIn(answer: Json, text: string): Found[] {
  if (!Array.isArray(answer)) throw new Error('unreadable')
  const units = unitCounter(text)
  return answer.map((entry) => {
    if (!isObject(entry) || typeof entry.start !== 'number' || typeof entry.end !== 'number') throw new Error('unreadable')
    return { entity: String(entry.entity_type ?? 'OTHER'), start: units(entry.start), end: units(entry.end) }
  })
}

/** From a count of characters to an offset in units. */
function unitCounter(text: string): (characters: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (characters) => characters
  const offsets: number[] = []
  let at = 0
  for (const char of text) {
    offsets.push(at)
    at += char.length
  }
  return (characters) => offsets[characters] ?? text.length
}
