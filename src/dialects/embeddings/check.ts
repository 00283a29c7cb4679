/** The rules of an embedding request: its schema, then its input (contract sections 4 and 9). */
import { Type } from 'typebox'
import { checker } from '../../core/check.ts'
import { badField } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { checkGatewayRules, gatewayProperties } from '../canon/gateway-schema.ts'
import { checkInput } from './check-input.ts'

const { model, models, preset, provider, route, session_id, user, metadata, trace } = gatewayProperties

/** Longest vector that any provider offers, with room above. */
export const MOST_DIMENSIONS = 65_536

const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** Everything but `input`, whose forms are distinguished by `checkInput`. */
export const embeddingSchema = Type.Object({
  model,
  models,
  preset,
  provider,
  route,
  session_id,
  user,
  metadata,
  trace,
  encoding_format: nullable(Type.Enum(['float', 'base64'])),
  dimensions: nullable(Type.Integer({ minimum: 1, maximum: MOST_DIMENSIONS })),
  input_type: nullable(Type.String({ minLength: 1, maxLength: 64 })),
})

const checkShape = checker(embeddingSchema)

/** @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject): void {
  checkShape(body)
  checkGatewayRules(body)
  // Vectors of two models do not go together, so no default is assumed.
  if (body.model === undefined && !(Array.isArray(body.models) && body.models.length > 0)) throw badField('model', 'is required')
  checkInput(body.input)
}
