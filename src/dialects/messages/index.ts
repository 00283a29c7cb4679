/** The Messages dialect: what callers of Anthropic's API speak, and what its providers speak. */
export { messagesClient } from './client.ts'
export { messagesCounting } from './counting.ts'
export { anthropicUpstream } from './upstream.ts'
