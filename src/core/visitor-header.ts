/** Header of the control room's requests with the address of its visitor, which is this machine's for the public listener otherwise. */
import { createHmac } from 'node:crypto'

export const VISITOR_HEADER = 'x-control-room-visitor'

/** @param roomHash of the control room's own key, which only processes of this gateway know. */
export function visitorHeader(address: string, roomHash: string): Record<string, string> {
  return { [VISITOR_HEADER]: `${address} ${createHmac('sha256', roomHash).update(address).digest('base64url')}` }
}
