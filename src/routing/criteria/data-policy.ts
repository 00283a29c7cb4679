/** `data_collection` and `zdr`: what a provider keeps of requests. */
import { criterion } from './criterion.ts'

export const dataCollection = criterion({
  name: 'data_collection',
  fields: {
    data_collection: {
      kind: 'choice',
      values: ['allow', 'deny'],
      strict: 'deny',
      text: '`deny`: only providers declared `data_collection: deny`, which keep no data for training. If unset: `allow`.',
    },
  },
  refusal: { code: 'privacy_restricted', excludedBy: 'data_policy:training' },
  removes: 'whose provider may keep data',
  demand: ({ data_collection: collection }) => (collection === 'deny' ? collection : undefined),
  test: ({ provider }, collection) => provider.dataCollection === collection,
  explain: () => 'its provider may collect data',
})

export const zdr = criterion({
  name: 'zdr',
  fields: { zdr: { kind: 'flag', strict: true, text: 'True: only providers declared `zdr: true`, which retain no data.' } },
  modelQuery: {
    name: 'zdr',
    text: 'True: only models that an endpoint serves without retaining anything.',
    matches: ({ endpoints }, wanted) => !wanted || endpoints.some(({ provider }) => provider.zdr),
  },
  refusal: { code: 'privacy_restricted', excludedBy: 'data_policy:zdr' },
  removes: 'whose provider retains data',
  demand: ({ zdr: retainNothing }) => retainNothing || undefined,
  test: ({ provider }) => provider.zdr,
  explain: () => 'its provider does not promise zero retention',
})
