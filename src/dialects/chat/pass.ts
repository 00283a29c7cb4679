/**
 * The pass lane of chat, to an OpenAI-compatible provider without the canonical form: requests and whole replies travel with a short list
 * of patches; of a stream content chunks keep their bytes, and everything else is read and written anew.
 */
import type { PassWire } from '../types.ts'
import { admits, passRequest } from './pass-request.ts'
import { passResult } from './pass-result.ts'
import { openPassStream } from './pass-stream.ts'
import { CLIENT_ID } from './wire.ts'

export const chatPass: PassWire = {
  client: CLIENT_ID,
  signed:
    /"signature":\s?"(?=[^"])|"type":\s?"reasoning\.encrypted",[^{}]{0,400}?"data":\s?"(?=[^"])|"data":\s?"(?=[\w+/=-]+",[^{}]{0,400}"reasoning\.encrypted")/g,
  admits,
  request: passRequest,
  result: passResult,
  stream: openPassStream,
}
