/** Faults on purpose: what goes wrong, and when. */

import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'
import { faultIn } from '../faults/classify.ts'
import type { Quirks } from '../quirks.ts'

export interface FaultPlan {
  /** HTTP status to fail with before any event. */
  status?: number | undefined
  /** Milliseconds before the first event or the failure. */
  delay: number
  /** Events after which the connection breaks. */
  cutAfter?: number | undefined
  /** Events after which nothing comes any more. */
  stallAfter?: number | undefined
}

const NONE: FaultPlan = { delay: 0 }

/** The fault that a provider's HTTP status stands for; the simulated body says nothing more. */
export function decodeFault(status: number, _body?: Json): Fault {
  return new Fault(faultIn('chat', status, undefined).code, { providerStatus: status >= 400 ? status : undefined })
}

/** Fault of this run, by `quirks.faults`; one random draw decides for all of them where `rate` is below 1. */
export function faultPlan({ faults }: Quirks, clock: Clock): FaultPlan {
  if (faults === undefined) return NONE
  const { rate } = faults
  if (typeof rate === 'number' && rate < 1 && clock.random() >= rate) return NONE
  return {
    status: amount(faults.status),
    delay: amount(faults.delay) ?? 0,
    cutAfter: amount(faults.cutAfter),
    stallAfter: amount(faults.stallAfter),
  }
}

function amount(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
