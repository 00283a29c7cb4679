/** Policies: conditions on requests, each with its effect. */
import { Type } from 'typebox'
import { MAX_EXPRESSION } from '../conditions/condition.ts'
import { closed, count, entryName, line, listField, modelSlug, usd } from '../fields/scalars.ts'
import { preferences } from './preferences.ts'

export const policy = closed('One policy: a condition and one effect (`deny`, `route`, `limit` or `guardrails`).', {
  name: entryName('Name in errors, plans and metrics.'),
  when: Type.String({
    description:
      'Condition in CEL, such as `caller.name == "ci" && !request.stream`, over the [variables](conditions.md#variables). The variables that it reads decide when it is evaluated.',
    minLength: 1,
    maxLength: MAX_EXPRESSION,
    expected: 'a condition in CEL',
  }),
  deny: Type.Optional(
    closed(
      'Refuses with 403 where the condition holds or cannot be evaluated. A condition over `endpoint` or `model` leaves out the endpoint alone, one over `tool` or `arguments` the call of the tool.',
      {
        message: Type.Optional(line('The sentence that the caller reads. If unset: one with the name of the policy.', 500)),
        code: Type.Optional(entryName('Word for programs: `error.metadata.policy_code`.')),
      },
    ),
  ),
  route: Type.Optional(
    closed('Where the request goes if the condition holds. Of several policies the first that states a field decides.', {
      model: Type.Optional(modelSlug('Model in the place of all that the request names.')),
      provider: Type.Optional(preferences),
    }),
  ),
  limit: Type.Optional(
    closed('Limits of requests for which the condition holds or cannot be evaluated, beside those of the caller.', {
      requests: Type.Optional(count('Requests per minute of each caller.')),
      max_cost: Type.Optional(
        usd('USD that one request may come to at the most; 403 where its hold is larger. An output cap makes the hold smaller.'),
      ),
    }),
  ),
  guardrails: Type.Optional(
    listField(
      'Names of entries of `guardrails` that hold where the condition does or cannot be evaluated. With `scope: { keys: [] }` they hold nowhere else.',
      entryName('A guardrail.'),
      1,
    ),
  ),
})
