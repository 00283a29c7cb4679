/** Findings of guardrails in one text: nothing is sent, recorded or counted. */
import type { GuardrailFindings, TestedText } from '../api/guardrail-test.ts'
import { Scan, TextPolicy } from '../guardrails/index.ts'
import type { GuardrailSetting } from '../pipeline/guard/guardrail-setting.ts'

/** @returns undefined where none of them has the id that is named. */
export async function findIn(
  { text, direction, byUser, guardrail }: TestedText,
  inForce: readonly GuardrailSetting[],
): Promise<GuardrailFindings | undefined> {
  const named = guardrail === undefined ? inForce : inForce.filter(({ id }) => id === guardrail)
  if (guardrail !== undefined && named.length === 0) return undefined
  // One that caps spending or bounds routing alone reads no text.
  const reading = named.filter((each) => each.rules.length > 0 || each.engine !== undefined)
  const guardrails = reading.filter(({ settings }) => settings.direction === 'both' || settings.direction === direction)
  const scan = new Scan(new TextPolicy(guardrails.flatMap(({ rules }) => rules)))
  for (const _ of scan.read([{ texts: [text], user: byUser }])) await new Promise((resolve) => setImmediate(resolve))
  return { hits: [...scan.hits.values()], text: scan.replaced.get(text) ?? text, guardrails }
}
