/** `order`: without fallbacks the list of the strongest side is all that there is. */
import { criterion } from './criterion.ts'
import { admittedTiers, listNames, shownSlugs } from './slugs.ts'

export const order = criterion({
  name: 'order',
  fields: {
    order: {
      kind: 'endpoints',
      text: 'Tried in this order; providers that do not serve the model are skipped. Then the others, unless `allow_fallbacks` is false. No draw, no sticky session.',
    },
    allow_fallbacks: {
      kind: 'flag',
      text: 'False: only the first endpoint of each model, or only those of `order`. Without it true.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'allowed_providers' },
  removes: 'that is missing in `order`, with `allow_fallbacks: false`',
  wish: ({ order: slugs, allow_fallbacks: fallbacks }, needs) =>
    fallbacks === false && slugs?.length ? { slugs, admitted: admittedTiers(needs) } : undefined,
  test: (endpoint, { slugs, admitted }) => listNames(slugs, endpoint, admitted),
  explain: (_endpoint, { slugs }) => `order without fallbacks: [${shownSlugs(slugs)}]`,
})
