/** The pages of the control room, for the tests that look at each of them. */
import type { Page } from 'playwright-core'
import { GUARDRAIL_REPLIES } from './guardrails-data.ts'
import { ACCESS, ACTIVITY, BUDGET, digitHash, KEY_LIST, KEYS } from './keys-data.ts'
import { EXPORTS } from './ledger-replies.ts'
import { CATALOGUE, ENDPOINTS, MEASURED } from './models-replies.ts'
import { NOW } from './now-status.ts'
import { POLICY_REPLIES } from './policy-data.ts'
import { FAILED_OVER, FOUND } from './requests-replies.ts'

export interface TestedPage {
  /** Of the pictures, and of the page's route unless there is a path. */
  readonly name: string
  readonly path: string
  /** Resolves once the page shows what it has. */
  readonly ready: (page: Page) => Promise<unknown>
  /** Replies of the API that are put in place of the gateway's own: method and path without the query, to the body. */
  readonly replies?: Readonly<Record<string, unknown>>
}

const shows =
  (text: string | RegExp) =>
  (page: Page): Promise<unknown> =>
    page.locator('main').getByText(text).first().waitFor()

const KEY_REPLIES = {
  'GET /v1/keys': KEY_LIST,
  [`GET /v1/keys/${digitHash('b')}`]: { data: KEYS[1] },
  'GET /v1/activity': { data: ACTIVITY },
  [`GET /v1/keys/${digitHash('b')}/budget`]: BUDGET,
  [`GET /v1/keys/${digitHash('b')}/access`]: ACCESS,
}

export const PAGES: readonly TestedPage[] = [
  { name: 'now', path: 'now', ready: shows('Providers'), replies: { 'GET /v1/status': { data: NOW } } },
  { name: 'usage', path: 'usage?view=errors', ready: shows('No settled request in this time') },
  {
    name: 'requests',
    path: 'requests?status=completed,failed&min_cost=0.001',
    ready: shows('Search further back'),
    replies: { 'GET /v1/generations': FOUND },
  },
  {
    name: 'requests-one',
    path: `requests/${FAILED_OVER.id}`,
    ready: shows('Settled as completed'),
    replies: {
      [`GET /v1/generations/${FAILED_OVER.id}`]: { data: FAILED_OVER },
      'GET /v1/ledger/entries': { data: [], next_cursor: null },
    },
  },
  {
    name: 'models',
    path: 'models?compare=acme%2Flarge',
    ready: shows('Globex: Small'),
    replies: { 'GET /v1/models': CATALOGUE, 'GET /v1/status': { data: MEASURED } },
  },
  {
    name: 'models-one',
    path: 'models/acme/large',
    ready: shows('Parameters it takes'),
    replies: { 'GET /v1/models/acme/large/endpoints': ENDPOINTS.large },
  },
  {
    name: 'models-compare',
    path: 'models/compare?models=acme%2Flarge,globex%2Fsmall',
    ready: shows('98.2 %'),
    replies: {
      'GET /v1/models': CATALOGUE,
      'GET /v1/models/acme/large/endpoints': ENDPOINTS.large,
      'GET /v1/models/globex/small/endpoints': ENDPOINTS.small,
    },
  },
  { name: 'models-playground', path: 'models/playground?model=sim%2Fthink', ready: shows('The same in code') },
  { name: 'keys', path: 'keys', ready: shows('reports'), replies: KEY_REPLIES },
  { name: 'keys-one', path: `keys/${digitHash('b')}`, ready: shows('Left of the limit'), replies: KEY_REPLIES },
  { name: 'teams', path: 'teams', ready: shows('Default') },
  { name: 'policy', path: 'policy', ready: shows('In force'), replies: POLICY_REPLIES },
  { name: 'guardrails', path: 'guardrails', ready: shows('Show it'), replies: GUARDRAIL_REPLIES },
  { name: 'ledger', path: 'ledger', ready: shows('Adds up') },
  { name: 'events', path: 'events', ready: shows('Receivers') },
  { name: 'changes', path: 'changes', ready: shows('sha256:') },
  { name: 'ledger-export', path: 'ledger', ready: shows('Export this range'), replies: { 'GET /ledger/exports': EXPORTS } },
]
