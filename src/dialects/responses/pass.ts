/** Client and upstream speak Responses: bodies and frames travel with a short list of patches. */

import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import type { Encoded, Final, PassResult, PassWire, ReplyContext, Target } from '../types.ts'
import { needsFunctions } from './client-tools.ts'
import { hasFailed } from './decode-result.ts'
import { PATH } from './encode-request.ts'
import { fitToTarget, isLoose } from './fit-request.ts'
import { isForeign } from './foreign-reasoning.ts'
import { responseFacts } from './pass-facts.ts'
import { ResponsesPassStream } from './pass-stream.ts'
import { LOST_REFERENCE, losesReference } from './references.ts'
import { closingJson, finalEnding, responseRest } from './reply.ts'
import { WIRE } from './wire.ts'

/** The caller's body without the gateway's own fields, fitted to its endpoint. */
function passRequest(body: JsonObject, target: Target): Encoded {
  const copy: JsonObject = {}
  for (const key in body) if (!GATEWAY_KEYS.has(key)) copy[key] = body[key]
  delete copy.background
  delete copy.previous_response_id
  const dropped: string[] = []
  if (Array.isArray(copy.input) && copy.input.some((item) => isObject(item) && item.type === 'item_reference')) {
    if (losesReference(copy.input)) dropped.push(LOST_REFERENCE)
    copy.input = copy.input.filter((item) => !isObject(item) || item.type !== 'item_reference')
  }
  fitToTarget(copy, target, dropped)
  return isLoose(copy, target) ? { path: PATH, body: copy, dropped, looseFormat: true } : { path: PATH, body: copy, dropped }
}

function passResult(body: JsonObject, ctx: ReplyContext): PassResult {
  const facts = Array.isArray(body.output) || hasFailed(body) ? responseFacts(body) : { fault: new Fault('upstream_garbled') }
  return {
    ...facts,
    finish(final: Final): string {
      const output = Array.isArray(body.output) ? body.output : []
      const json = { output: JSON.stringify(output), rest: responseRest(body), tier: body.service_tier }
      return closingJson(ctx, final, finalEnding(final, output.length > 0), json)
    },
  }
}

/** Reasoning of another family must not reach the provider, nor a kind of tool that it does not know: the translate lane sees to both. */
function admits(body: JsonObject, { quirks }: Target): boolean {
  if (quirks.functions_only === true && needsFunctions(body)) return false
  const { input } = body
  if (!Array.isArray(input)) return true
  for (const item of input) if (isObject(item) && item.type === 'reasoning' && isForeign(item)) return false
  return true
}

export const responsesPass: PassWire = {
  client: WIRE,
  signed: /"(?:encrypted_content|signature)":\s?"(?=[^"])/g,
  admits,
  request: passRequest,
  result: passResult,
  stream: (ctx) => new ResponsesPassStream(ctx),
}
