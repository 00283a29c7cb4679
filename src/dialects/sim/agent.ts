/**
 * A small task, so that a coding agent can be tried without a provider: one or two calls of its tools, whose results are read, and a sentence.
 * It lists the files, or where the user names a file such as `headgate-sample.txt` writes that one and reads it back. It changes nothing else.
 */
import type { CanonicalRequest } from '../canon/request.ts'
import { functionTools, partsText } from './request.ts'
import { type ToolCall, ToolShapes } from './tool-shapes.ts'

/** Text before the calls, and the calls; without calls it is the end. */
export interface Move {
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/** The only files that are ever written: a name such as `main.py` in a prompt may be one of the user's own. */
const SAMPLE_FILE = /(?<![\w./\\-])headgate-sample[\w-]*\.(?:txt|md)\b/
const CONTENT = 'Written through the gateway, by a model that is none.\n'

/** Texts that agents put around and between the words of their users. */
const ADDED = /<([\w-]*(?:reminder|environment|context|instructions|details|permissions)[\w-]*)\b[^>]*>[\s\S]*?<\/\1>/gi
const TAG = /<\/?[\w-]+>/g

/** A path behind words such as "working directory" or within `<cwd>`, as agents state it. */
const FOLDER = /(?:\bworking directory|\bcwd|\bin the directory|\bdirectory is)\b[^\n/\\]{0,40}?((?:\/|[a-z]:\\)[^\n<>"'`)]*)/i

const LONGEST = 200

/** Last text of the user, without the agent's additions. @returns its place and text; the place is -1 where there is nothing. */
function lastPrompt(request: CanonicalRequest): { at: number; text: string } {
  for (let at = request.items.length - 1; at >= 0; at--) {
    const item = request.items[at]
    if (item?.kind !== 'message' || item.role !== 'user') continue
    const text = partsText(item.parts).replace(ADDED, '').replace(TAG, '').trim()
    if (text !== '') return { at, text }
  }
  return { at: -1, text: '' }
}

function workingFolder(request: CanonicalRequest): string | undefined {
  for (const item of request.items) {
    if (item.kind !== 'message' || item.role === 'assistant') continue
    const [, path] = FOLDER.exec(partsText(item.parts)) ?? []
    if (path !== undefined) return path.trim().replace(/[.,;/\\]+$/, '') || undefined
  }
  return undefined
}

interface Step {
  readonly text: string
  readonly call: ToolCall
}

/** The steps of the task with the tools that are offered. */
function planSteps(request: CanonicalRequest, prompt: string): Step[] {
  const shapes = new ToolShapes(functionTools(request), workingFolder(request))
  const [file] = SAMPLE_FILE.exec(prompt) ?? []
  const step = (text: string, call: ToolCall | undefined): Step[] => (call ? [{ text, call }] : [])
  if (file === undefined) return step('I look at the files here.', shapes.run('ls') ?? shapes.list())
  const written = shapes.write(file, CONTENT) ?? shapes.run(`printf '%s' '${CONTENT}' > ${file}`)
  const readBack = shapes.read(file) ?? shapes.run(`cat ${file}`)
  return written ? [...step(`I write ${file}.`, written), ...step('I read it back.', readBack)] : []
}

interface Result {
  readonly name: string
  readonly text: string
  readonly failed: boolean
}

/** Results since the user spoke, and how many turns of calls they answer. */
function resultsSince(request: CanonicalRequest, at: number): { turns: number; last: Result | undefined } {
  const names = new Map<string, string>()
  let turns = 0
  let last: Result | undefined
  let before = ''
  for (const item of request.items.slice(at + 1)) {
    if (item.kind === 'call') {
      names.set(item.callId, item.name)
      if (before !== 'call') turns++
      before = 'call'
    } else if (item.kind === 'result') {
      last = { name: names.get(item.callId) ?? item.callId, text: partsText(item.parts), failed: item.error === true }
      before = 'result'
    }
  }
  return { turns, last }
}

/** The beginning of a result, in one line. */
function shown(text: string): string {
  const line = text.replace(TAG, '').trim().replaceAll(/\s+/g, ' ')
  return line.length > LONGEST ? `${line.slice(0, LONGEST).toWellFormed()} …` : line
}

function lastWords({ last }: { last: Result | undefined }): string {
  if (!last) return 'No tool of this request runs commands, or reads and writes files, so there is nothing for sim/agent to do.'
  const what = last.failed ? 'could not do it' : 'answered'
  return `The task is done. The last tool, ${last.name}, ${what}: ${shown(last.text) || 'nothing'}`
}

/** Next step, by the state of the conversation. */
export function nextMove(request: CanonicalRequest): Move {
  const { at, text } = lastPrompt(request)
  const results = resultsSince(request, at)
  const step = request.toolChoice?.mode === 'none' ? undefined : planSteps(request, text)[results.turns]
  return step ? { text: step.text, calls: [step.call] } : { text: lastWords(results), calls: [] }
}
