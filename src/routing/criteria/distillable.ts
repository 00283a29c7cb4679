/** `distillable`: models whose author allows training on their output. */
import { criterion } from './criterion.ts'

const FLAG = 'distillable'

export const distillable = criterion({
  name: 'distillable',
  fields: {
    enforce_distillable_text: {
      kind: 'flag',
      strict: true,
      text: 'True: only models declared `distillable: true`, whose author allows training on their output.',
    },
  },
  modelFlag: { name: FLAG, text: 'True: its author allows training on its output.' },
  modelQuery: {
    name: FLAG,
    text: 'Whether the author allows training on its output.',
    matches: ({ flags }, wanted) => flags.has(FLAG) === wanted,
  },
  refusal: { code: 'constraint_filtered' },
  removes: 'whose model is not declared `distillable`',
  demand: ({ enforce_distillable_text: enforced }) => enforced || undefined,
  test: ({ model }) => model.flags.has(FLAG),
  explain: () => 'its author is not known to allow distillation',
})
