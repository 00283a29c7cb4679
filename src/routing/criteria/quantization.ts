/** `quantization`: number formats of an endpoint's weights. */
import { criterion } from './criterion.ts'

/** A lower precision that other formats are a kind of. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = { fp4: ['mxfp4', 'nvfp4'], fp8: ['mxfp8'] }

/** Also those that the configuration may state of an endpoint. */
export const QUANTIZATIONS = ['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'] as const
export const QUANTIZATION_TEXT = 'Number format of the weights at this endpoint.'

export const quantization = criterion({
  name: 'quantization',
  fields: {
    quantizations: {
      kind: 'choices',
      values: QUANTIZATIONS,
      each: QUANTIZATION_TEXT,
      text: 'Only endpoints with these number formats. `fp4` includes `mxfp4` and `nvfp4`, `fp8` includes `mxfp8`. An endpoint that declares no format is `unknown`.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'quantization' },
  removes: 'whose number format is not in `quantizations`',
  demand: ({ quantizations: names }) => (names?.length ? new Set(names.flatMap((name) => [name, ...(FAMILIES[name] ?? [])])) : undefined),
  test: (endpoint, names) => names.has(endpoint.quantization),
  explain: (endpoint) => `its quantization is ${endpoint.quantization}`,
})
