/** Refusals of reasoning that is sent back: without it the request may do. */
import type { Wire } from './rows.ts'

interface ReasoningRow {
  readonly wires: readonly Wire[]
  /** The words for programs and the sentence together. */
  readonly text: RegExp
  readonly source: string
}

const ROWS: readonly ReasoningRow[] = [
  {
    wires: ['chat', 'responses'],
    text: /invalid_encrypted_content|encrypted[ _]content\b.{0,200}(?:could not be (?:verified|decrypted)|did not match)/is,
    source: 'OpenAI: github.com/openai/codex/issues/8119',
  },
  {
    wires: ['chat', 'messages', 'bedrock'],
    text: /invalid .{0,4}(?:signature|data).{0,4} in .{0,4}(?:redacted_)?thinking(?!.{0,60}\bbound to a different conversation)|`?thinking`? or `?redacted_thinking`? blocks\b.{0,80}cannot be modified/is,
    source:
      'Anthropic: github.com/anthropics/claude-code/issues/10627. A block that is bound to another conversation is refused only where the caller sets `prefix_mismatch_behavior: error`.',
  },
  {
    wires: ['chat', 'gemini'],
    text: /(?:corrupted|invalid) thought[ _]?signature|thought[ _]?signature is (?:not valid|invalid)/i,
    source: 'Google: github.com/google-gemini/gemini-cli/issues/13467, github.com/decolua/9router/issues/301',
  },
  {
    wires: ['responses'],
    text: /could not (?:decrypt the provided encrypted_content|decode the compaction blob)/i,
    source: 'xAI: github.com/Wei-Shaw/sub2api/issues/4535, github.com/chenyme/grok2api/issues/688',
  },
  {
    wires: ['responses'],
    text: /of type 'reasoning' was provided without|without its required 'reasoning' item|item with id 'rs_[^']{0,200}' not found/i,
    source:
      'OpenAI: a reasoning item without its successor, or the other way round (recorded: test_openai_responses_thinking_with_modified_history)',
  },
  {
    wires: ['responses'],
    text: /'input\[\d+\]\.content'.{0,80}\bmaximum length 0\b/i,
    source:
      'OpenAI and Azure, of the open text of a thought: github.com/musistudio/claude-code-router/issues/1783, github.com/microsoft/agent-framework-go/issues/783',
  },
  {
    wires: ['bedrock'],
    text: /cannot contain reasoning content|reasoning_?content.{0,40}(?:not supported|is not allowed|not permitted)/i,
    source: 'github.com/can1357/oh-my-pi/pull/9086',
  },
]

/** @param text the words for programs, the sentence and what it quotes. */
export function refusesReasoning(wire: Wire, text: string): boolean {
  return ROWS.some(({ wires, text: pattern }) => wires.includes(wire) && pattern.test(text))
}
