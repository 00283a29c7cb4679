/** The playground: a request to a model with the visitor's own key, its reply as it comes, and the same request as code. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { CallerKey, callerHeaders, canCall } from '../components/caller-key.tsx'
import { Choice, Field, TextArea } from '../components/field.tsx'
import { announce } from '../components/toast.tsx'
import { Section } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { useQuery } from '../router.ts'
import { readModels } from './models-catalogue.tsx'
import { chat, EMPTY, type Reply } from './models-chat.ts'
import { CodeFor } from './models-code.tsx'
import { ReplyView } from './models-reply.tsx'
import { answers } from './models-try.tsx'

/** Bytes of an image that goes with the request. */
const MAX_IMAGE = 8_000_000
const EFFORTS = ['', 'minimal', 'low', 'medium', 'high'] as const

const SAMPLE_TOOL = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]

/** The prompt is private, so that it stands in no address. */
interface Draft {
  readonly system: string
  readonly prompt: string
  readonly tools: string
  readonly image: string | undefined
}

export function Playground({ session }: { session: Session }) {
  const [query, setQuery] = useQuery()
  const models = useResource(readModels, [])
  const known = (models.data?.data ?? []).filter(answers)
  const model = query.model ?? known[0]?.id ?? ''
  const [draft, setDraft] = useState<Draft>({ system: '', prompt: 'Say hello in one sentence.', tools: '', image: undefined })
  const [, redraw] = useState(0)
  const run = useRun()
  const maxTokens = Number(query.max_tokens) > 0 ? Math.floor(Number(query.max_tokens)) : undefined
  const set = (changes: Partial<Draft>): void => setDraft((last) => ({ ...last, ...changes }))
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    run.start(() => draftBody(draft, { model, maxTokens, effort: query.effort ?? '', temperature: query.temperature ?? '' }))
  }
  const isReady = model !== '' && draft.prompt.trim() !== '' && canCall(session)
  return (
    <>
      <div class="playground">
        <Section title="Request">
          <form class="form" onSubmit={submit}>
            <Field
              name="model"
              label="Model"
              type="search"
              value={model}
              list={known.map(({ id }) => id)}
              error={run.error}
              required
              onChange={(value) => setQuery({ model: value.trim() })}
            />
            <CallerKey session={session} onChange={() => redraw((last) => last + 1)} />
            <TextArea name="prompt" label="Message" rows={5} value={draft.prompt} onInput={(prompt) => set({ prompt })} />
            <More draft={draft} set={set} error={run.error} />
            <p class="actions">
              <button type="submit" class="button primary" disabled={run.isRunning || !isReady}>
                {run.isRunning ? 'Answering…' : 'Send'}
              </button>
              <button type="button" class="button danger" disabled={!run.isRunning} onClick={run.stop}>
                Stop
              </button>
              {!canCall(session) && <span class="quiet">Paste a key first.</span>}
            </p>
          </form>
        </Section>
        <Section title="Reply">
          <ReplyView reply={run.reply} error={run.error} isRunning={run.isRunning} isStopped={run.isStopped} />
        </Section>
      </div>
      <Section title="The same in code">
        <CodeFor input={{ url: session.api_url ?? location.origin, model, system: draft.system, prompt: draft.prompt, maxTokens }} />
      </Section>
    </>
  )
}

function More({ draft, set, error }: PartProps & { error: Error | undefined }) {
  const [query, setQuery] = useQuery()
  return (
    <details open={draft.system !== '' || draft.tools !== '' || draft.image !== undefined}>
      <summary>Instructions, tools, an image, limits</summary>
      <div class="form">
        <TextArea name="system" label="Instructions" rows={3} value={draft.system} onInput={(system) => set({ system })} />
        <Tools draft={draft} error={error} set={set} />
        <ImageField draft={draft} set={set} />
        <div class="filters model-filters">
          <Field
            name="max_tokens"
            label="Most tokens out"
            type="number"
            min="1"
            value={query.max_tokens ?? ''}
            error={error}
            onChange={(value) => setQuery({ max_tokens: value })}
          />
          <Field
            name="temperature"
            label="Temperature"
            type="number"
            min="0"
            max="2"
            step="0.1"
            value={query.temperature ?? ''}
            error={error}
            onChange={(value) => setQuery({ temperature: value })}
          />
          <Choice
            name="reasoning"
            label="Reasoning effort"
            value={query.effort ?? ''}
            error={error}
            options={EFFORTS.map((effort) => [effort, effort === '' ? 'As the model has it' : effort] as const)}
            onChange={(effort) => setQuery({ effort })}
          />
        </div>
      </div>
    </details>
  )
}

interface Settings {
  readonly model: string
  readonly maxTokens: number | undefined
  readonly effort: string
  readonly temperature: string
}

/** @throws Error where the tools are no JSON. */
function draftBody({ system, prompt, tools, image }: Draft, { model, maxTokens, effort, temperature }: Settings): object {
  const content =
    image === undefined
      ? prompt
      : [
          { type: 'text', text: prompt },
          { type: 'image_url', image_url: { url: image } },
        ]
  return {
    model,
    stream: true,
    messages: [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content }],
    ...(maxTokens && { max_tokens: maxTokens }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(effort !== '' && { reasoning: { effort } }),
    ...(tools.trim() !== '' && { tools: parsed(tools) }),
  }
}

function parsed(tools: string): unknown {
  try {
    return JSON.parse(tools)
  } catch (thrown) {
    throw new Error(`The tools are no JSON: ${(thrown as Error).message}`)
  }
}

/** One request at a time; leaving the page ends it. */
function useRun() {
  const [reply, setReply] = useState<Reply>()
  const [error, setError] = useState<Error>()
  const [state, setState] = useState<'idle' | 'running' | 'stopped'>('idle')
  const ended = useRef<AbortController>(undefined)
  useEffect(() => () => ended.current?.abort(), [])
  const start = async (make: () => object): Promise<void> => {
    const own = new AbortController()
    ended.current = own
    setError(undefined)
    setReply(EMPTY)
    setState('running')
    try {
      await chat({ body: make(), headers: callerHeaders(), signal: own.signal, onReply: setReply })
      announce(own.signal.aborted ? 'Stopped' : 'The reply is complete')
    } catch (thrown) {
      if (!own.signal.aborted) setError(thrown as Error)
    }
    setState(own.signal.aborted ? 'stopped' : 'idle')
  }
  return {
    reply,
    error,
    isRunning: state === 'running',
    isStopped: state === 'stopped',
    start: (make: () => object) => void start(make),
    stop: () => ended.current?.abort(),
  }
}

interface PartProps {
  readonly draft: Draft
  readonly set: (changes: Partial<Draft>) => void
}

function Tools({ draft, error, set }: PartProps & { error: Error | undefined }) {
  return (
    <>
      <TextArea
        name="tools"
        label="Tools, as JSON"
        rows={draft.tools === '' ? 2 : 8}
        isCode
        value={draft.tools}
        error={error}
        onInput={(tools) => set({ tools })}
      />
      {draft.tools === '' && (
        <p>
          <button type="button" class="button small" onClick={() => set({ tools: JSON.stringify(SAMPLE_TOOL, undefined, 2) })}>
            Put an example in
          </button>
        </p>
      )}
    </>
  )
}

function ImageField({ draft, set }: PartProps) {
  const [problem, setProblem] = useState<string>()
  const read = (file: File | undefined): void => {
    setProblem(undefined)
    if (!file) set({ image: undefined })
    else if (file.size > MAX_IMAGE) setProblem(`At most ${MAX_IMAGE / 1e6} MB`)
    else readImage(file, (image) => set({ image }))
  }
  return (
    <div class="field">
      <label>
        Image{' '}
        <input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange={(event) => read(event.currentTarget.files?.[0])} />
      </label>
      {problem && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      {draft.image && <img class="thumb" src={draft.image} alt="What is sent" />}
    </div>
  )
}

function readImage(file: File, done: (address: string) => void): void {
  const reader = new FileReader()
  reader.onload = () => done(String(reader.result))
  reader.readAsDataURL(file)
}
