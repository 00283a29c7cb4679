/**
 * Clients that take the last block of a reply alone for its answer, by how their `User-Agent` begins. Claude Code 2.1.330 prints nothing
 * where that is no text (test/agents/claude-code.agent.ts), and its fetches of pages find no answer (github.com/maximhq/bifrost/issues/5820,
 * github.com/router-for-me/CLIProxyAPI/issues/5272).
 */
import type { IncomingHttpHeaders } from 'node:http'

const LAST_BLOCK = ['claude-cli/']

/** True for callers whose answers end with their text. */
export function readsLastBlock({ 'user-agent': agent }: IncomingHttpHeaders): boolean {
  return agent !== undefined && LAST_BLOCK.some((beginning) => agent.startsWith(beginning))
}
