/** Calls one guardrail's engine with texts of a request or of an answer. */

import { Fault } from '../../core/faults.ts'
import {
  answerEngineFault,
  type EngineQuestion,
  type EngineVerdict,
  engineFault,
  engineStage,
  ofAnswer,
  silentStage,
} from '../../guardrails/index.ts'
import type { Routed } from '../exchange.ts'
import { endedEarly } from '../reply/final-fault.ts'
import type { GuardrailSetting } from './guardrail-setting.ts'

/**
 * Adds the stage that reports the call.
 * @returns undefined where the engine found nothing, or did not answer and need not.
 * @throws Fault 403 where it blocks, 503 where it did not answer and the guardrail is closed.
 */
export async function askEngine(
  exchange: Routed,
  guardrail: GuardrailSetting,
  texts: readonly string[],
  direction: EngineQuestion['direction'],
): Promise<EngineVerdict | undefined> {
  const { engine, name } = guardrail
  const distinct = [...new Set(texts)]
  if (!engine || distinct.length === 0) return undefined
  const {
    head: { clock, cancel },
    auth: { key },
    wish: { requested },
    trail: { stages },
  } = exchange
  const question = { texts: distinct, guardrail: name, key: key.name, model: requested, direction }
  const context = { clock, onAbort: (fn: () => void) => cancel.onAbort(fn) }
  const step = exchange.trail.begin({ kind: 'guardrail', name, started: clock.monotonic() })
  const verdict = await engine.ask(question, context).catch((cause: unknown) => {
    step.ended = clock.monotonic()
    step.failure = 'unanswered'
    if (cancel.aborted) throw endedEarly(exchange, [])
    const silent = silentStage(guardrail, engine)
    stages.push(direction === 'output' ? ofAnswer(silent, []) : silent)
    if (engine.open) return undefined
    throw new Fault('unavailable', { message: `The engine of the guardrail ${name} did not answer, and nothing passes without it`, cause })
  })
  if (step.ended === 0) step.ended = clock.monotonic()
  const stage = verdict && engineStage(guardrail, engine, verdict)
  if (!verdict || !stage) return undefined
  stages.push(direction === 'output' ? ofAnswer(stage, verdict.entities) : stage)
  const fault = direction === 'output' ? answerEngineFault(verdict) : engineFault(verdict, requested)
  if (fault) throw fault
  return verdict
}
