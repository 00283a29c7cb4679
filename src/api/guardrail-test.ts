/** POST /v1/guardrails/test: what the guardrails in force would find in a text. Nothing is sent, recorded or counted. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { ExternalEngine, GuardrailName, Hit } from '../guardrails/index.ts'
import { type ApiReply, ok } from './reply.ts'

export interface TestedText {
  readonly text: string
  /** As part of a request, or of a reply. */
  readonly direction: 'input' | 'output'
  /** Some rules read the user's own words alone. */
  readonly byUser: boolean
  /** Id of the only one that reads it. */
  readonly guardrail: string | undefined
}

export interface GuardrailFindings {
  readonly hits: readonly Hit[]
  /** With placeholders. */
  readonly text: string
  /** Those that read the text. Their engines were not called. */
  readonly guardrails: readonly (GuardrailName & { readonly engine: ExternalEngine | undefined })[]
}

export interface GuardrailTestSource {
  /** Those of the file, and those of the store that are assigned. @returns undefined where none has the id that is named. */
  readonly findIn: (tested: TestedText) => Promise<GuardrailFindings | undefined>
}

/** Characters: it is a bench for one message. */
const LONGEST = 100_000

export const checkTest = checker(
  Type.Object(
    {
      text: Type.String({ minLength: 1, maxLength: LONGEST }),
      direction: Type.Optional(Type.Enum(['input', 'output'])),
      role: Type.Optional(Type.Enum(['user', 'other'])),
      guardrail: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    },
    { additionalProperties: false },
  ),
)

/** `block` takes precedence over `redact`, and `redact` over `flag`. */
const VERDICTS = ['block', 'redact', 'flag'] as const

/** Engines that are called over HTTP are named in `not_called`, and not called. @throws Fault 400 naming the field. */
export async function testGuardrails(body: JsonObject, { findIn }: GuardrailTestSource): Promise<ApiReply> {
  checkTest(body)
  const found = await findIn({
    text: String(body.text),
    direction: body.direction === 'output' ? 'output' : 'input',
    byUser: body.role !== 'other',
    guardrail: typeof body.guardrail === 'string' ? body.guardrail : undefined,
  })
  if (!found) throw badField('guardrail', 'expected the id of a guardrail in force')
  const { hits, text, guardrails } = found
  const verdict = VERDICTS.find((action) => hits.some(({ rule }) => rule.action === action)) ?? 'pass'
  return ok({
    data: {
      verdict,
      text: verdict === 'block' ? null : text,
      findings: hits.map(findingEntry),
      guardrails: guardrails.map(({ id, name, scope }) => ({ id, name, scope })),
      not_called: guardrails.filter(({ engine }) => engine !== undefined).map(({ id, name }) => ({ id, name })),
    },
  })
}

function findingEntry({ rule, matched }: Hit): JsonObject {
  const { guardrail, action, entity, label } = rule
  const { id, name, scope } = guardrail
  return { guardrail_id: id, guardrail: name, scope, action, entity, label: label ?? null, matches: [...matched] }
}
