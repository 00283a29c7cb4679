/** The Messages dialect: what callers of Anthropic's API speak, and what its providers speak. */
export { messagesClient } from './client.ts'
export { anthropicUpstream, messagesCounting } from './upstream.ts'
