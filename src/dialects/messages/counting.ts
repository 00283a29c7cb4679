/** POST /v1/messages/count_tokens: the same request, answered with the size of its input. */

import type { JsonObject } from '../../core/json.ts'
import { MOST_TOKENS } from '../canon/bounds.ts'
import type { ClientDialect } from '../types.ts'
import { check } from './check.ts'
import { messagesClient } from './client.ts'

/** A count has no output, so a request for one needs no cap. */
const NO_CAP = { max_tokens: MOST_TOKENS }

export const messagesCounting: ClientDialect = {
  ...messagesClient,
  check: (body: JsonObject) => check(body.max_tokens === undefined ? { ...body, ...NO_CAP } : body),
  countBody: ({ tokens, estimated }) => (estimated ? { input_tokens: tokens, estimated } : { input_tokens: tokens }),
}
