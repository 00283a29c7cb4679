/** Parts of recorded requests as the API replies them. */
import type { GenerationReply, GenerationsReply, ReplayReply } from '../api-types.ts'

export type RequestEntry = GenerationsReply['data'][number]
export type RequestStatus = RequestEntry['status']

export type RequestDetail = GenerationReply['data']
export type Attempt = RequestDetail['attempts'][number]
/** A tool, a call that a tool made of a model, an engine of a guardrail, a plugin. */
export type StepEntry = RequestDetail['steps'][number]
export type GuardrailHit = RequestDetail['guardrails'][number]
export type PluginRun = RequestDetail['plugins'][number]
export type MoneyLine = RequestDetail['money'][number]

export type Replayed = ReplayReply['data']
export type Plan = NonNullable<Replayed['plan']>
