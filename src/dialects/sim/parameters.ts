/** Parameters that a simulated model reads in the canonical request. */
import { parameterTable } from '../canon/parameters.ts'

export const simParameters = parameterTable(
  {
    stop: { as: 'stop' },
    max_tokens: { as: 'max_tokens' },
    tools: { as: 'tools' },
    tool_choice: { as: 'tool_choice' },
    response_format: { as: 'response_format' },
    structured_outputs: { as: 'structured_outputs' },
    reasoning: { as: 'reasoning' },
  },
  'the simulated models have no use for it',
)
