/** Reads a raw frame of this wire just far enough to send it on: its type, and where its sequence number stands. */
import { textBytes } from '../sse/words.ts'

export interface FrameView {
  /** Just behind the frame's blank line. */
  end: number
  /** Where the JSON begins; -1 where the frame is not of the usual form and must be parsed. */
  json: number
  /** Where the type's name begins, behind `response.`. */
  name: number
  /** The quote that ends the name. */
  nameEnd: number
}

const HEAD = '{"type":"response.'
const AFTER_TYPE = ',"sequence_number":'
const KEY = '"sequence_number":'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NEWLINE = 0x0a

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Fills `view` with the frame that begins at `at`; `text` ends with a blank line. */
export function viewFrame(text: string, at: number, view: FrameView): void {
  let data = at
  let line = text.indexOf('\n', at)
  if (text.startsWith('event: ', at)) {
    data = line + 1
    line = text.indexOf('\n', data)
  }
  view.json = -1
  if (line === -1 || text.charCodeAt(line + 1) !== NEWLINE) {
    view.end = text.indexOf('\n\n', at) + 2
    return
  }
  view.end = line + 2
  if (!text.startsWith('data: ', data) || !text.startsWith(HEAD, data + 6)) return
  view.json = data + 6
  view.name = view.json + HEAD.length
  view.nameEnd = text.indexOf('"', view.name)
}

/** Walks over the members of the outermost object; strings and nested values cannot deceive it. */
function searchTopLevel(text: string, from: number, to: number): number {
  let depth = 0
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const start = i
      for (i++; i < to && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++
      if (depth === 1 && i - start === KEY.length - 2 && text.startsWith(KEY, start)) return i + 2
    } else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return -1
}

/** @returns where the digits of the top-level `sequence_number` begin, -1 where it has none. */
export function sequenceAt(text: string, view: FrameView): number {
  let at = -1
  if (text.startsWith(AFTER_TYPE, view.nameEnd + 1)) at = view.nameEnd + 1 + AFTER_TYPE.length
  else {
    // As the last member: what stands before the closing brace of the object is at the top level.
    let i = view.end - 4
    while (isDigit(text.charCodeAt(i))) i--
    if (text.charCodeAt(view.end - 3) === 0x7d && text.startsWith(KEY, i + 1 - KEY.length)) at = i + 1
    else at = searchTopLevel(text, view.json, view.end)
  }
  return at !== -1 && isDigit(text.charCodeAt(at)) ? at : -1
}

const DELTA = '"delta":"'

/** Bytes of the text that a delta brings; 0 for any other frame: those that end a part only say it again. */
export function deltaBytes(text: string, view: FrameView): number {
  if (!text.startsWith('.delta', view.nameEnd - 6)) return 0
  const from = text.indexOf(DELTA, view.nameEnd)
  return from === -1 || from >= view.end ? 0 : textBytes(text, from + DELTA.length)
}

/** @returns just behind the last digit of a number. */
export function digitsEnd(text: string, at: number): number {
  let end = at
  while (isDigit(text.charCodeAt(end))) end++
  return end
}

/** True where the digits at `at` spell `value`. */
export function spells(text: string, at: number, value: number): boolean {
  let number = 0
  let i = at
  for (; isDigit(text.charCodeAt(i)); i++) number = number * 10 + text.charCodeAt(i) - 0x30
  return number === value
}
