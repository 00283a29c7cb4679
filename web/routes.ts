/**
 * The pages of the control room, in the order of the navigation. To add one: its file `web/pages/NAME.tsx` with a default
 * export of type `Page`, its styles `web/pages/NAME.css` with a line in `web/style.css`, its row here,
 * and its entry in `test/control-room/pages.ts`. A part of it that not every role may see, and each control that changes something, has its right from `rights.ts`.
 */
import type { Page } from './page.ts'

export interface Route {
  /** First part of the address. */
  readonly name: string
  readonly title: string
  /** Path of a symbol of 20 by 20. */
  readonly icon: string
  /** Operation that it reads first: without the right to it, the page is left out. */
  readonly reads: string
  readonly load: () => Promise<{ default: Page }>
}

export const ROUTES: readonly Route[] = [
  {
    name: 'now',
    title: 'Now',
    icon: 'M2 10h3l2.5-6 4 13 3-9 1.5 2h2',
    reads: 'GET /v1/status',
    load: () => import('./pages/now.tsx'),
  },
  {
    name: 'usage',
    title: 'Usage',
    icon: 'M3 17V3M3 17h14M6.5 13.5v-4M10 13.5v-8M13.5 13.5v-6',
    reads: 'GET /v1/slices',
    load: () => import('./pages/usage.tsx'),
  },
  {
    name: 'requests',
    title: 'Requests',
    icon: 'M3 5h14M3 10h14M3 15h9',
    reads: 'GET /v1/generations',
    load: () => import('./pages/requests.tsx'),
  },
  {
    name: 'models',
    title: 'Models',
    icon: 'M10 2.5 16.5 6v8L10 17.5 3.5 14V6zM3.5 6 10 9.5 16.5 6M10 9.5v8',
    reads: 'GET /v1/models',
    load: () => import('./pages/models.tsx'),
  },
  {
    name: 'keys',
    title: 'Keys and budgets',
    icon: 'M12.5 11.5a4 4 0 1 0-3.6-2.2L3 15.2V17h3v-2h2v-2l1.6-1.6M13.5 6.5v.01',
    reads: 'GET /v1/keys',
    load: () => import('./pages/keys.tsx'),
  },
  {
    name: 'teams',
    title: 'Teams',
    icon: 'M7 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.5c0-3 2.2-4.5 5-4.5s5 1.5 5 4.5M13 4a2.8 2.8 0 0 1 0 5.3M14.5 12.3c2.2.5 3.5 1.9 3.5 4.2',
    reads: 'GET /v1/workspaces',
    load: () => import('./pages/teams.tsx'),
  },
  {
    name: 'policy',
    title: 'Policy',
    icon: 'M5 2.5h7l3.5 3.5v11.5H5zM12 2.5V6h3.5M8 10h5M8 13.5h5',
    reads: 'GET /v1/configuration',
    load: () => import('./pages/policy.tsx'),
  },
  {
    name: 'guardrails',
    title: 'Guardrails',
    icon: 'M10 2.5 16 5v4.5c0 4-2.6 6.8-6 8-3.4-1.2-6-4-6-8V5zM7.3 9.8l2 2 3.6-3.8',
    reads: 'GET /v1/guardrails',
    load: () => import('./pages/guardrails.tsx'),
  },
  {
    name: 'ledger',
    title: 'Ledger',
    icon: 'M4 3h12v14H4zM4 7.5h12M8 7.5V17M11 11h2.5M11 14h2.5',
    reads: 'GET /ledger/verify',
    load: () => import('./pages/ledger.tsx'),
  },
  {
    name: 'events',
    title: 'Events',
    icon: 'M10 2.5v2M5 14h10l-1.2-2V9a3.8 3.8 0 0 0-7.6 0v3zM8.3 16.5a1.8 1.8 0 0 0 3.4 0',
    reads: 'GET /v1/events',
    load: () => import('./pages/events.tsx'),
  },
  {
    name: 'changes',
    title: 'Changes',
    icon: 'M5 3h10v14H5zM8 7h4M8 10h4M8 13h2',
    reads: 'GET /v1/audit',
    load: () => import('./pages/changes.tsx'),
  },
]
