/** The running configuration, and what a submitted one would mean. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { type ApiReply, ok } from './reply.ts'

export interface ConfigurationQuery {
  /** Only entries whose path begins with it; empty for all. */
  readonly path: string
}

export interface SubmittedCheck {
  readonly text: string
  /** Text of a file of policy tests. */
  readonly tests: string | undefined
}

export interface ConfigurationDesk {
  show(query: ConfigurationQuery): JsonObject
  check(submitted: SubmittedCheck): Promise<JsonObject>
}

export interface ConfigurationSource {
  readonly configuration: ConfigurationDesk
}

const LONGEST_PATH = 512
/** Characters of a submitted text. */
export const LONGEST_TEXT = 1_000_000
/** Bytes of the bodies that hold one, JSON's escapes included. */
export const LARGEST_BODY = 4_000_000

/** @throws Fault 400. */
export async function showConfiguration(query: URLSearchParams, { configuration }: ConfigurationSource): Promise<ApiReply> {
  const path = query.get('path') ?? ''
  if (path.length > LONGEST_PATH) throw badField('path', `expected at most ${LONGEST_PATH} characters`)
  return ok({ data: configuration.show({ path }) })
}

/** @throws Fault 400; 408, 422 or 503 where the text cannot be checked. */
export async function checkConfiguration(body: JsonObject, { configuration }: ConfigurationSource): Promise<ApiReply> {
  const tests = body.tests === undefined || body.tests === null ? undefined : textIn(body, 'tests')
  return ok({ data: await configuration.check({ text: textIn(body, 'text'), tests }) })
}

function textIn(body: JsonObject, name: string): string {
  const text = body[name]
  if (typeof text !== 'string') throw badField(name, 'expected the text of a YAML file')
  if (text.length > LONGEST_TEXT) throw badField(name, `expected at most ${LONGEST_TEXT} characters, found ${text.length}`)
  return text
}
