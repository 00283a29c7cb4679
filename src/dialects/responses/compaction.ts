/**
 * Compaction in requests of this wire: the trigger that requests it, and the items that it left in the place of a conversation
 * (types of openai 7.57.0: `ResponseInputItem.CompactionTrigger`, `ResponseCompactionItemParam`; `context_compaction` is Codex's).
 */
import { badField } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ClientCompaction, CompactionFacts, CompactionItem } from '../canon/compaction.ts'
import { WIRE } from './wire.ts'

export const TRIGGER = 'compaction_trigger'

/** `compaction_summary` is an earlier name that Codex still reads (codex-rs/protocol, `ResponseItem::Compaction`). */
const ITEMS: ReadonlySet<unknown> = new Set(['compaction', 'compaction_summary', 'context_compaction'])

/** A conversation has one, or one for each time that it was compacted. */
const MAX_ITEMS = 64

/** Messages that stand in the places of items: the caller did not write them. */
const opened = new WeakSet<JsonObject>()

export function isOpened(message: JsonObject): boolean {
  return opened.has(message)
}

export const responsesCompaction: ClientCompaction = { isOperation: false, find, withTexts, item }

function find({ input }: JsonObject): CompactionFacts | undefined {
  if (!Array.isArray(input)) return undefined
  let isRequested = false
  let items: CompactionItem[] | undefined
  for (let index = 0; index < input.length; index++) {
    const each = input[index]
    if (!isObject(each)) continue
    const { type, encrypted_content: encrypted } = each
    if (type === TRIGGER) {
      if (index !== input.length - 1) throw badField(`input[${index}]`, `${TRIGGER} must be the last item`)
      isRequested = true
    } else if (typeof encrypted === 'string' && typeof type === 'string' && ITEMS.has(type)) {
      items ??= []
      if (items.length === MAX_ITEMS) throw badField('input', `expected at most ${MAX_ITEMS} compaction items`)
      items.push({ index, path: `input[${index}].encrypted_content`, type, encrypted })
    }
  }
  return isRequested || items ? { isRequested, items: items ?? [] } : undefined
}

function withTexts(body: JsonObject, texts: ReadonlyMap<number, string>): JsonObject {
  const { input } = body
  if (!Array.isArray(input)) return body
  return {
    ...body,
    input: input.map((each, index) => {
      const text = texts.get(index)
      if (text === undefined) return each
      const message: JsonObject = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
      opened.add(message)
      return message
    }),
  }
}

function item(encrypted: string, { id }: { id: string }) {
  return {
    dialect: WIRE,
    type: 'compaction',
    data: { id: `cmp_${id.replace(/^gen-/, '')}`, type: 'compaction', encrypted_content: encrypted },
  }
}
