/** What an endpoint is able to do: whether it is in service, its wire format, what its model reads and writes, and how much. */
import type { Endpoint } from '../catalog/types.ts'
import { criterion } from './criterion.ts'

export const status = criterion({
  name: 'status',
  refusal: { code: 'no_endpoints' },
  removes: 'that is out of service',
  wish: (_preferences, { unavailable }) => unavailable,
  test: (endpoint, unavailable) => !unavailable(endpoint),
  explain: () => 'out of service',
})

export const dialect = criterion({
  name: 'dialect',
  refusal: { code: 'constraint_filtered', field: 'tools' },
  removes: "whose format cannot express something that the request needs, such as another provider's own tool",
  wish: (_preferences, { unable }) => unable,
  test: (endpoint, unable) => unable(endpoint) === undefined,
  explain: (endpoint, unable) => unable(endpoint) ?? '',
})

export const inputModality = criterion({
  name: 'input_modality',
  refusal: { code: 'constraint_filtered', field: 'input' },
  removes: 'whose model does not accept an image, audio, video or file of the request',
  wish: (_preferences, { input }) => input,
  // Of a model that does not declare what it reads the provider decides.
  test: ({ model }, input) => model.anyInput === true || firstMissing(input, model.input) === undefined,
  explain: ({ model }, input) => `takes no ${firstMissing(input, model.input)} input`,
})

export const outputModality = criterion({
  name: 'output_modality',
  refusal: { code: 'constraint_filtered', field: 'modalities' },
  removes: 'whose model cannot produce what `modalities` names',
  wish: (_preferences, { output }) => output,
  test: ({ model }, output) => firstMissing(output, model.output) === undefined,
  explain: ({ model }, output) => `gives no ${firstMissing(output, model.output)} output`,
})

function firstMissing(wanted: Iterable<string>, offered: readonly string[]): string | undefined {
  for (const name of wanted) if (!offered.includes(name)) return name
  return undefined
}

export const context = criterion({
  name: 'context',
  refusal: { code: 'constraint_filtered', excludedBy: 'context_length', field: 'input' },
  removes: 'whose context is too short for input and output together; the estimate is rather too high than too low',
  wish: (_preferences, { contextTokens }) => contextTokens,
  test: (endpoint, tokens) => tokens <= (contextOf(endpoint) ?? Number.POSITIVE_INFINITY),
  explain: (endpoint, tokens) => `its context of ${contextOf(endpoint)} tokens is shorter than ${tokens}`,
})

export const maxOutput = criterion({
  name: 'max_output',
  refusal: { code: 'constraint_filtered', field: 'max_output_tokens' },
  removes: 'whose `max_output` is below the output cap that the request sets',
  wish: (_preferences, needs) => needs.maxOutput,
  test: (endpoint, tokens) => tokens <= (outputOf(endpoint) ?? Number.POSITIVE_INFINITY),
  explain: (endpoint) => `writes at most ${outputOf(endpoint)} tokens`,
})

const contextOf = (endpoint: Endpoint): number | undefined => endpoint.context ?? endpoint.model.context
const outputOf = (endpoint: Endpoint): number | undefined => endpoint.maxOutput ?? endpoint.model.maxOutput
