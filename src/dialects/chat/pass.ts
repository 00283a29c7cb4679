/**
 * The pass lane of chat, to an OpenAI-compatible provider without the canonical form: requests and whole replies travel with a short list
 * of patches; of a stream content chunks keep their bytes, and everything else is read and written anew.
 */
import type { PassWire } from '../types.ts'
import { hidesReasoning } from './check.ts'
import { isCited, needsFunctions, passRequest } from './pass-request.ts'
import { passResult } from './pass-result.ts'
import { ChatPassStream } from './pass-stream.ts'
import { CLIENT_ID } from './wire.ts'

export const chatPass: PassWire = {
  client: CLIENT_ID,
  signed:
    /"signature":\s?"(?=[^"])|"type":\s?"reasoning\.encrypted",[^{}]{0,400}?"data":\s?"(?=[^"])|"data":\s?"(?=[\w+/=-]+",[^{}]{0,400}"reasoning\.encrypted")/g,
  // Reasoning that the caller excluded is left out only where the reply is re-encoded, and so are functions in place of other tools.
  // Sources that the answer cites stand in it as annotations only where it is decoded.
  admits: (body, { quirks }) =>
    !hidesReasoning(body) && (quirks.custom_tools === true || !needsFunctions(body)) && !isCited(body, quirks.citations),
  request: passRequest,
  result: passResult,
  stream: (ctx, quirks) => new ChatPassStream(ctx, quirks),
}
