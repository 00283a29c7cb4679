/** The simulated provider: canonical events straight from this process. */

import { Fault } from '../../core/faults.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { UpstreamDialect } from '../types.ts'
import { decodeFault } from './faults.ts'
import { simParameters } from './parameters.ts'
import { encodeRequest } from './request.ts'
import { SimRun } from './run.ts'

/** There is no wire, so bytes that claim to be ours are unreadable. */
function unreadable(out: StreamEvent[]): void {
  out.push({ type: 'fault', fault: new Fault('upstream_garbled') })
}

export const simUpstream: UpstreamDialect = {
  id: 'sim',
  encodeRequest,
  /** Decodes nothing: every stream ends with one fault. Never throws. */
  streamDecoder: () => ({
    feed: () => {},
    end: unreadable,
  }),
  /** Decodes nothing: one fault. Never throws. */
  decodeResult: (_body, out) => unreadable(out),
  decodeFault,
  parameters: simParameters,
  /** The run keeps to the cap, whatever its endpoint's data say. */
  cap: {
    sends: () => true,
    written: ({ max_output: cap }) => (typeof cap === 'number' ? cap : undefined),
  },
  wire: 'sim',
  /** Tools of providers are looked past, so that any client can be tried out. */
  takesTool: () => true,
  files: 'all',
  /** Nothing is sent anywhere, so no header carries the key. */
  auth: () => ['x-simulated', 'true'],
  run(request, target, clock, sink) {
    return new SimRun(request, target, clock, sink)
  },
}
