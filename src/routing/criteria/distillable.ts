/** `distillable`: models whose author allows training on their output. */
import { criterion } from './criterion.ts'

const FLAG = 'distillable'

export const distillable = criterion({
  name: 'distillable',
  fields: {
    enforce_distillable_text: {
      kind: 'flag',
      strict: true,
      text: 'True: only models that are declared `distillable: true`, whose author allows training on what they write.',
    },
  },
  modelFlag: { name: FLAG, text: 'True: its author allows training on what it writes.' },
  modelQuery: {
    name: FLAG,
    text: 'Whether the author allows training on what it writes.',
    matches: ({ flags }, wanted) => flags.has(FLAG) === wanted,
  },
  refusal: { code: 'constraint_filtered' },
  removes: 'whose model is not declared `distillable`',
  wish: ({ enforce_distillable_text: enforced }) => enforced || undefined,
  test: ({ model }) => model.flags.has(FLAG),
  explain: () => 'its author is not known to allow distillation',
})
