/** Slices of the ledger over any range, and its most extreme requests. */
import { Type } from 'typebox'
import { type Operation, operation } from '../operation.ts'
import { EXTREMES_QUERY, listExtremes, listSlices, SLICES_QUERY, sliceCover, slicesReply } from '../slices.ts'
import { foundGeneration } from './generations.ts'

export const sliceOperations: readonly Operation[] = [
  operation('GET /slices', {
    id: 'listSlices',
    tag: 'Records',
    roles: ['viewer', 'billing'],
    reach: 'place',
    scope: 'spending:read',
    summary: 'List spend, tokens, errors and latency of a range',
    description:
      'Sums and percentiles of settled requests by key, user, app, model, provider, status or error, today included. A reply comes at once: it says from when on the generations are in it, and the next call has more.',
    parameters: SLICES_QUERY,
    reply: { description: 'Sums, those with the most first.', schema: slicesReply },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query }, source) => listSlices(query, source),
  }),
  operation('GET /slices/generations', {
    id: 'listExtremes',
    tag: 'Records',
    roles: ['viewer'],
    reach: 'place',
    scope: 'requests:read',
    summary: 'List the dearest or slowest requests of a range',
    description:
      'Settled requests with the most of a measure; those without it are left out. As of slices, a reply says how far it has looked.',
    parameters: EXTREMES_QUERY,
    reply: {
      description: 'Requests, those with the most first.',
      schema: Type.Object({ data: Type.Array(foundGeneration), ...sliceCover }),
    },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query }, source) => listExtremes(query, source),
  }),
]
