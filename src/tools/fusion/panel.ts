/** Calls all members of a panel at once, and reports the progress of each. */
import { Fault, type Json, type JsonObject, type ModelAnswer, type ToolHost } from '../../plugin-api/index.ts'
import { listener } from '../listening.ts'
import { reasonOf, wordsOf } from '../model-calls.ts'
import type { PanelAnswer } from './analysis.ts'
import { type FusionConfig, lengthOf } from './config.ts'

export interface FailedMember {
  model: string
  error: string
  status_code?: number
}

export interface PanelResult {
  answers: readonly PanelAnswer[]
  failed: readonly FailedMember[]
  /** Pages that members cite, each once. */
  sources: readonly JsonObject[]
  /** The first error that is no `Fault`, for the log. */
  cause?: unknown
}

/** How members are called. */
export interface CallOptions {
  host: ToolHost
  /** True where the caller is shown what comes. */
  live: boolean
}

type Ended = { answer: ModelAnswer; content: string } | { thrown: unknown }

/** Never rejects: a member that fails is reported. */
export async function callPanel({ models, member, length }: FusionConfig, prompt: string, options: CallOptions): Promise<PanelResult> {
  const { host } = options
  const bodyOf = (model: string): JsonObject => ({ ...member, model, input: prompt, ...lengthOf(model, length, host.models) })
  for (const model of models) host.progress('response.fusion_call.panel.added', { model })
  const ended = await Promise.all(models.map((model) => callMember(model, bodyOf(model), options)))
  const answers: PanelAnswer[] = []
  const failed: FailedMember[] = []
  const sources = new Map<string, JsonObject>()
  let cause: unknown
  for (const [i, end] of ended.entries()) {
    const model = models[i]
    if (model === undefined) break
    if ('thrown' in end) {
      failed.push(failedMember(model, end.thrown))
      if (!(end.thrown instanceof Fault)) cause ??= end.thrown
      continue
    }
    answers.push({ model, content: end.content })
    for (const source of sourcesOf(end.answer)) if (!sources.has(String(source.url))) sources.set(String(source.url), source)
  }
  return { answers, failed, sources: [...sources.values()], cause }
}

async function callMember(model: string, body: JsonObject, { host, live }: CallOptions): Promise<Ended> {
  const onEvent = listener({
    text: (delta) => host.progress('response.fusion_call.panel.delta', { model, delta }),
    thought: (delta) => host.progress('response.fusion_call.panel.reasoning.delta', { model, delta }),
  })
  try {
    const answer = await host.generate(live ? { body, onEvent } : { body })
    const content = wordsOf(answer)
    host.progress('response.fusion_call.panel.completed', { model, content })
    return { answer, content }
  } catch (thrown) {
    host.progress('response.fusion_call.panel.failed', { ...failedMember(model, thrown) })
    return { thrown }
  }
}

function failedMember(model: string, thrown: unknown): FailedMember {
  return { model, error: reasonOf(thrown), ...(thrown instanceof Fault ? { status_code: thrown.status } : {}) }
}

function sourcesOf({ blocks }: ModelAnswer): JsonObject[] {
  return blocks.flatMap(({ notes }) =>
    notes.flatMap(({ note, data }) => (note === 'annotation' && data.type === 'url_citation' ? [sourceOf(data)] : [])),
  )
}

function sourceOf({ url, title }: JsonObject): JsonObject {
  const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
  return { url: text(url), title: text(title) || text(url) }
}
