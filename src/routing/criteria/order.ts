/** `order`: without fallbacks the list of the strongest side is all that there is. */
import { criterion } from './criterion.ts'
import { admittedTiers, listNames, shownSlugs } from './slugs.ts'

export const order = criterion({
  name: 'order',
  fields: {
    order: {
      kind: 'endpoints',
      text: 'Endpoints are tried in this order; entries that do not serve the model are skipped. The other endpoints follow, unless `allow_fallbacks` is false. Turns off the random draw and sticky sessions.',
    },
    allow_fallbacks: {
      kind: 'flag',
      text: 'False: only the first endpoint of each model is tried; with `order`, only the endpoints that it names. If unset: true.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'allowed_providers' },
  removes: 'that is not in `order`, with `allow_fallbacks: false`',
  wish: ({ order: slugs, allow_fallbacks: fallbacks }, needs) =>
    fallbacks === false && slugs?.length ? { slugs, admitted: admittedTiers(needs) } : undefined,
  test: (endpoint, { slugs, admitted }) => listNames(slugs, endpoint, admitted),
  explain: (_endpoint, { slugs }) => `order without fallbacks: [${shownSlugs(slugs)}]`,
})
