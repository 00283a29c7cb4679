/** Reads raw frames of this wire just far enough to send them on: most say in their first line that they are content. */
import { textBytes } from '../sse/words.ts'

const CONTENT = 'event: content_block_'
const DELTA = 'event: content_block_delta\ndata: '
const START = 'event: content_block_start\ndata: '

const BEFORE_INNER = DELTA.length + '{"type":"content_block_delta","index":0,'.length
const TEXT = '"delta":{"type":"text_delta","text":"'
const TAIL = '"}}\n\n'

const INNER = '"delta":{"type":"'
/** Deltas that say something: the others sign it or name its sources. */
const SPOKEN = ['text_delta","', 'thinking_delta","', 'input_json_delta","']
/** Bytes of a text delta's frame that are not the model's words; about, where it is written in another way. */
const BONES = BEFORE_INNER + TEXT.length + TAIL.length

const CALL = '"type":"tool_use"'
/** A block that names it is read, since searches of the provider's own are counted. */
const SEARCH = 'web_search'

export interface ContentRun {
  /** Just behind the last frame of the run; where it began if the first frame is none of content. */
  end: number
  /** Bytes of the model's words. */
  words: number
  /** True where a call of the caller's tools begins in it. */
  calls: boolean
}

/** Fills `run` with the unbroken content frames from `at` on; every frame ends with a blank line. */
export function contentRun(frames: string, at: number, run: ContentRun): void {
  run.words = 0
  run.calls = false
  let slash = frames.indexOf('\\', at)
  let from = at
  while (frames.startsWith(CONTENT, from)) {
    const end = frames.indexOf('\n\n', from) + 2
    if (frames.startsWith(DELTA, from)) {
      const escapes = slash !== -1 && slash < end
      const usual = !escapes && frames.startsWith(TEXT, from + BEFORE_INNER) && frames.startsWith(TAIL, end - TAIL.length)
      run.words += usual ? end - from - BONES : wordsOf(frames, from, end)
      if (escapes) slash = frames.indexOf('\\', end)
    } else if (frames.startsWith(START, from)) {
      const frame = frames.slice(from, end)
      if (frame.includes(SEARCH)) break
      run.calls ||= frame.includes(CALL)
    }
    from = end
  }
  run.end = from
}

function wordsOf(frames: string, from: number, end: number): number {
  const inner = frames.indexOf(INNER, from + DELTA.length)
  if (inner === -1 || inner >= end) return Math.max(1, end - from - BONES)
  const kind = inner + INNER.length
  for (const spoken of SPOKEN) {
    if (!frames.startsWith(spoken, kind)) continue
    const value = frames.indexOf('":"', kind + spoken.length)
    return value === -1 || value >= end ? 0 : textBytes(frames, value + 3)
  }
  return 0
}

/** The name in the `event` line; undefined where the frame has none. */
export function eventName(frame: string): string | undefined {
  return /^event: ?(.*)$/m.exec(frame)?.[1]
}
