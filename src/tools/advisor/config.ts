/** The caller's `parameters` of one advisor (contract section 1.4). */
import type { JsonObject, ToolContext } from '../../plugin-api/index.ts'
import { type Instance, instanceOf } from '../instances.ts'
import { flagOf, mannerOf, textOf } from '../model-calls.ts'

export const TOOL = 'advisor'

export interface AdvisorConfig {
  instance: Instance
  /** Undefined where the calling model may choose. */
  model: string | undefined
  instructions: string | undefined
  /** The advisor is shown the conversation. */
  transcript: boolean
  /** Its words are shown as they come. */
  live: boolean
  /** Fields of the request for its model. */
  manner: JsonObject
}

/** @param at path of the tool in the request. @throws Fault 400 naming the path. */
export function parseConfig(parameters: JsonObject, at: string, context: ToolContext): AdvisorConfig {
  const path = `${at}.parameters`
  return {
    instance: instanceOf(TOOL, `${path}.name`, context),
    model: textOf(parameters.model, `${path}.model`, 'a model slug'),
    instructions: textOf(parameters.instructions, `${path}.instructions`),
    transcript: flagOf(parameters.forward_transcript, `${path}.forward_transcript`),
    live: flagOf(parameters.stream, `${path}.stream`),
    manner: mannerOf(parameters, path),
  }
}
