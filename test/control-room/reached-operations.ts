/**
 * Every operation of the API that a role which manages may call: the page of the control room that reaches it, or the reason why none does.
 * To give an operation a page, write the page's name in the place of the reason.
 */

/** Page by its name in `web/routes.ts`. */
type Reached = { readonly page: string } | { readonly reason: string }

const pages = (page: string, operations: readonly string[]): [string, Reached][] => operations.map((name) => [name, { page }])
const without = (reason: string, operations: readonly string[]): [string, Reached][] => operations.map((name) => [name, { reason }])

export const REACHED_OPERATIONS: ReadonlyMap<string, Reached> = new Map<string, Reached>([
  ...pages('now', ['GET /v1/status']),
  ...pages('usage', ['GET /v1/slices', 'GET /v1/slices/generations']),
  ...pages('requests', ['GET /v1/generations', 'GET /v1/generations/{id}', 'POST /v1/generations/{id}/plan', 'GET /v1/refusals']),
  ...pages('models', ['GET /v1/models', 'GET /v1/models/{author}/{slug}/endpoints']),
  ...pages('keys', ['GET /v1/keys', 'POST /v1/keys', 'GET /v1/keys/{hash}', 'PATCH /v1/keys/{hash}', 'DELETE /v1/keys/{hash}']),
  ...pages('keys', ['POST /v1/keys/{hash}/rotate', 'GET /v1/keys/{hash}/access', 'GET /v1/keys/{hash}/budget', 'GET /v1/budgets']),
  ...pages('keys', ['DELETE /v1/keys/{hash}/previous']),
  ...pages('keys', ['GET /v1/activity', 'GET /v1/activity/keys']),
  ...pages('requests', ['GET /v1/providers']),
  ...['organizations', 'workspaces'].flatMap((kind) =>
    pages('teams', [
      ...[`GET /v1/${kind}`, `POST /v1/${kind}`, `GET /v1/${kind}/{id}/members`],
      ...[`POST /v1/${kind}/{id}/members/add`, `POST /v1/${kind}/{id}/members/remove`],
    ]),
  ),
  ...['organizations', 'workspaces', 'members'].flatMap((kind) =>
    pages('teams', [
      ...[`GET /v1/${kind}/{id}`, `PATCH /v1/${kind}/{id}`, `DELETE /v1/${kind}/{id}`],
      ...[`PUT /v1/${kind}/{id}/budgets/{interval}`, `DELETE /v1/${kind}/{id}/budgets/{interval}`],
    ]),
  ),
  ...['organizations', 'workspaces'].flatMap((kind) =>
    pages('teams', [
      `GET /v1/guardrails/assignments/${kind}`,
      ...[`POST /v1/guardrails/{id}/assignments/${kind}`, `POST /v1/guardrails/{id}/assignments/${kind}/remove`],
    ]),
  ),
  ...pages('policy', ['GET /v1/configuration', 'POST /v1/configuration/check', 'POST /v1/configuration/rehearse']),
  ...pages('guardrails', ['GET /v1/guardrails', 'GET /v1/guardrails/assignments/keys', 'POST /v1/guardrails/test']),
  ...pages('ledger', ['GET /v1/ledger/entries', 'POST /v1/ledger/entries']),
  ...pages('events', [
    'GET /v1/events',
    'GET /v1/events/receivers',
    'POST /v1/events/receivers/{name}/enable',
    'POST /v1/events/{id}/redeliver',
  ]),
  ...pages('changes', ['GET /v1/audit']),

  ...without('another operation shows the same, with more beside it', [
    ...['GET /v1/models/count', 'GET /v1/model/{author}/{slug}', 'GET /v1/models/{author}/{slug}', 'GET /v1/generation', 'GET /v1/credits'],
    ...['GET /v1/guardrails/{id}', 'GET /v1/guardrails/{id}/assignments/keys', 'GET /v1/events/{id}', 'GET /v1/events/deliveries'],
    ...['GET /v1/guardrails/{id}/assignments/workspaces', 'GET /v1/guardrails/{id}/assignments/organizations'],
    ...['organizations', 'workspaces', 'members'].flatMap((kind) => [
      `GET /v1/${kind}/{id}/budgets`,
      `GET /v1/${kind}/{id}/budgets/{interval}`,
    ]),
    'GET /v1/organization/members',
  ]),
  ...without('it shows a caller what is its own: the page of a person without a role has that', ['GET /v1/key', 'GET /v1/models/user']),
  ...without('a form of another vendor’s clients, of what another operation shows', ['GET /v1/embeddings/models', 'GET /v1/endpoints/zdr']),
  ...without('a key gets a code of an application on the page of the sign-in, which is no page of the control room', [
    'POST /v1/auth/keys',
  ]),
  ...without('no page yet: presets are shown by the API and in the file', ['GET /v1/presets', 'GET /v1/presets/{slug}']),
  ...without('no page yet: keys of providers are managed over the API and the command line', [
    ...['GET /v1/byok', 'POST /v1/byok', 'GET /v1/byok/{id}', 'PATCH /v1/byok/{id}', 'DELETE /v1/byok/{id}'],
  ]),
  ...without('no page yet: guardrails are made and assigned over the API and the command line', [
    ...['POST /v1/guardrails', 'PATCH /v1/guardrails/{id}', 'DELETE /v1/guardrails/{id}'],
    ...['POST /v1/guardrails/{id}/assignments/keys', 'POST /v1/guardrails/{id}/assignments/keys/remove'],
    ...['GET /v1/guardrails/assignments/members', 'GET /v1/guardrails/{id}/assignments/members'],
    ...['POST /v1/guardrails/{id}/assignments/members', 'POST /v1/guardrails/{id}/assignments/members/remove'],
  ]),
  ...without('keys come from another gateway in a file of many: the API and the command line take that', ['POST /v1/keys/import']),
  ...without('no page yet: sessions are listed over the API and the command line', ['GET /v1/sessions']),
  ...without('no page yet: a statement and a report are files, which the API and the command line make', [
    'GET /v1/chargeback',
    'GET /v1/audit/report',
  ]),
])
