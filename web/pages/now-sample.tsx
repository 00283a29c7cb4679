/** Sends some dozen requests to the simulated models, so that there is something to see. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, send } from '../api.ts'
import { toast, toastError } from '../components/toast.tsx'

const REQUESTS = 60
/** At the same time. */
const LANES = 6

const MODELS = ['sim/echo', 'sim/story', 'sim/think', 'sim/json', 'sim/tools']
const TEXTS = [
  'Say hello to the control room.',
  'A short story about a lighthouse, please.',
  'Which of two trains arrives first?',
  'List three colours as JSON.',
  'What is the weather in Oslo?',
]
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]

export function SampleTraffic({ onStart, onProgress }: { onStart: () => void; onProgress: () => void }) {
  const [done, setDone] = useState<number>()
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const run = async (): Promise<void> => {
    const ended = new AbortController()
    stop.current = ended
    onStart()
    setDone(0)
    let next = 0
    let failed = 0
    const lane = async (): Promise<void> => {
      while (next < REQUESTS && !ended.signal.aborted) {
        if (!(await one(next++, ended.signal))) failed++
        setDone((last = 0) => last + 1)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane)).catch(toastError)
    if (ended.signal.aborted) return
    setDone(undefined)
    onProgress()
    toast(failed === 0 ? `${REQUESTS} sample requests were answered` : `${REQUESTS - failed} of ${REQUESTS} sample requests were answered`)
  }
  return (
    <button type="button" class="button primary" onClick={run} disabled={done !== undefined}>
      {done === undefined ? 'Make sample traffic' : `Sample traffic: ${done} of ${REQUESTS}`}
    </button>
  )
}

/** @returns false where it has failed. */
async function one(index: number, signal: AbortSignal): Promise<boolean> {
  const kind = index % MODELS.length
  const body = {
    model: MODELS[kind],
    stream: index % 3 !== 0,
    max_tokens: 40 + (index % 7) * 20,
    messages: [{ role: 'user', content: TEXTS[kind] }],
    ...(MODELS[kind] === 'sim/tools' && { tools: TOOLS }),
    session_id: `sample-${index % 4}`,
  }
  try {
    // The gateway puts the published development key in: the page has none.
    const reply = await send('/v1/chat/completions', { method: 'POST', body, signal, headers: { 'x-control-room': 'sample' } })
    await reply.text()
    return true
  } catch (thrown) {
    if (thrown instanceof ApiError || signal.aborted) return false
    throw thrown
  }
}
