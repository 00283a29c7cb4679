/** Encrypted or signed reasoning, and how it stands in a request of each format of a provider; with its text where a signature covers the text. */
import type { WireName } from '../../support/wire.ts'

export const ENCRYPTED_TEXT = 'c2VhbGVkLXJlYXNvbmluZy1vZi10aGUtcHJvdmlkZXI='

export const ENCRYPTED: Readonly<Record<WireName, RegExp>> = {
  'openai-chat': new RegExp(`"reasoning_details":\\[(?=[^\\]]*"look [^\\]]*outside")[^\\]]*"signature":"${ENCRYPTED_TEXT}"`),
  'openai-responses': new RegExp(`"encrypted_content":"${ENCRYPTED_TEXT}"`),
  // Members in the order of the client's own writing.
  anthropic: new RegExp(`{(?=[^{}]*"type":"thinking")(?=[^{}]*"thinking":"look outside")[^{}]*"signature":"${ENCRYPTED_TEXT}"[^{}]*}`),
  gemini: new RegExp(`"functionCall":{[^}]*}}?,"thoughtSignature":"${ENCRYPTED_TEXT}"|"thoughtSignature":"${ENCRYPTED_TEXT}","functionCall"`),
}
