/** Reads raw frames of this wire just far enough to send them on: most say in their first line that they are content. */

const CONTENT = 'event: content_block_'
const DELTA = 'event: content_block_delta\ndata: '
const START = 'event: content_block_start\ndata: '

/** Bytes of a delta's frame that are not the model's words, about. */
const BONES = DELTA.length + '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}\n\n'.length

const CALL = '"type":"tool_use"'

export interface ContentRun {
  /** Just behind the last frame of the run; where it began if the first frame is none of content. */
  end: number
  /** Bytes of the model's words, about. */
  words: number
  /** True where a call of the caller's tools begins in it. */
  calls: boolean
}

/** Fills `run` with the unbroken content frames from `at` on; every frame ends with a blank line. */
export function contentRun(frames: string, at: number, run: ContentRun): void {
  run.words = 0
  run.calls = false
  let from = at
  while (frames.startsWith(CONTENT, from)) {
    const end = frames.indexOf('\n\n', from) + 2
    if (frames.startsWith(DELTA, from)) run.words += Math.max(1, end - from - BONES)
    else if (frames.startsWith(START, from) && !run.calls) {
      const call = frames.indexOf(CALL, from)
      run.calls = call !== -1 && call < end
    }
    from = end
  }
  run.end = from
}

/** The name in the `event` line; undefined where the frame has none. */
export function eventName(frame: string): string | undefined {
  return /^event: ?(.*)$/m.exec(frame)?.[1]
}
