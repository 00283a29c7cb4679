/**
 * Token counts without a tokenizer: no provider's is exact for another's, so these err high.
 *
 * An estimate is used where money is shown or charged after the fact. A bound is used for holds:
 * a byte-level tokenizer cuts text into pieces of at least one byte, so text never has more tokens than bytes,
 * and JSON never has fewer bytes than the text that it carries.
 */

/** Bytes per token of text whose script is not known; English has 4 to 5, code 3 to 4, Chinese about 3. */
const BYTES_PER_TOKEN = 2.5

/**
 * Tokens that a provider may add by itself, out of the caller's sight, when a request offers tools.
 * The caller of `inputUpperBound` adds it for such requests.
 */
export const TOOL_PROMPT_TOKENS = 1024

/** Tokens from lengths: 3 ASCII characters each; beyond ASCII each further byte of a character adds half a token. */
function fromLengths(bytes: number, characters: number): number {
  return Math.ceil((3 * bytes - characters) / 6)
}

/** Estimated tokens of a text. */
export function estimateTokens(text: string): number {
  return fromLengths(Buffer.byteLength(text), text.length)
}

/** Estimated tokens of text of which only the size in UTF-8 is known. */
export function estimateFromBytes(bytes: number): number {
  return bytes > 0 ? Math.ceil(bytes / BYTES_PER_TOKEN) : 0
}

/** Sums up what was relayed piece by piece: rounding each delta up by itself would double the count. */
export class TextMeter {
  private bytes = 0
  private characters = 0

  add(text: string): void {
    this.bytes += Buffer.byteLength(text)
    this.characters += text.length
  }

  tokens(): number {
    return fromLengths(this.bytes, this.characters)
  }
}

/**
 * Upper bound of a request's input tokens from the size of its body, without building anything.
 * About four times the truth for English: a hold lives only as long as its request, so the excess matters
 * only for a key that is almost spent, whose 402 says how much was missing.
 * @param bodyBytes size of the JSON body.
 * @param extraTokens what is not text: a stated cap per image, file or audio part, and `TOOL_PROMPT_TOKENS`.
 */
export function inputUpperBound(bodyBytes: number, extraTokens = 0): number {
  return Math.ceil(Math.max(0, bodyBytes)) + Math.ceil(Math.max(0, extraTokens))
}
