/** Bounds of lists and numbers in a request, so that no single field stalls the process or reaches a provider as nonsense. */
import { Type } from 'typebox'
import { MAX_COUNT } from '../../core/parameters.ts'

/** Entries of any list that is not named below: more than any use that is known, and cheap to walk for each endpoint. */
export const MAX_ENTRIES = 64

/** Messages or input items: agents reach some thousands; the objects of a body are bounded together (`layers/read.ts`). */
export const MAX_MESSAGES = 32_768

/** Parts of one message, blocks of a system prompt, calls of one turn: long documents come as thousands of parts. */
export const MAX_PARTS = 8_192

/** Function tools: catalogues of remote tools have come to two thousand. */
export const MAX_TOOLS = 4_096

/** Tokens with a bias of their own; vocabularies have 200,000, but no provider takes more than this. */
export const MAX_BIASES = 4_096

/** USD, seconds and rates: far above any real one, and exact in every sum. */
export const MAX_AMOUNT = 1e12

/** A whole number. Without bounds of its own it ends where whole numbers stop being exact (RFC 8259 section 6). */
const whole = (minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER) => Type.Integer({ minimum, maximum })

/** A count of tokens, steps or the like. */
export const tokenCount = (minimum: number) => whole(minimum, MAX_COUNT)

export const amountFrom0 = () => Type.Number({ minimum: 0, maximum: MAX_AMOUNT })
