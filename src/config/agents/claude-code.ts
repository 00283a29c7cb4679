/** Claude Code. */
import { type Agent, jsonText, type Place } from './agent.ts'

/** Variables that replace the names which Claude Code sends by itself. */
function modelVariables({ models, servesOwnNames }: Place): Record<string, string> {
  if (servesOwnNames) return {}
  const { main, plan, small } = models
  const limit = main.context === undefined ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(main.context) }
  return {
    ANTHROPIC_MODEL: main.name,
    ANTHROPIC_DEFAULT_OPUS_MODEL: plan.name,
    ANTHROPIC_DEFAULT_SONNET_MODEL: main.name,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.name,
    ...limit,
  }
}

export const claudeCode: Agent = {
  name: 'claude-code',
  title: 'Claude Code',
  package: 'npm @anthropic-ai/claude-code 2.1.332',
  sources: ['https://code.claude.com/docs/en/llm-gateway', 'https://code.claude.com/docs/en/model-config'],
  format: 'messages',
  names: {
    main: ['claude-opus-5-5', 'claude-sonnet-5-5'],
    plan: ['claude-opus-5-5'],
    small: ['claude-haiku-5-5'],
    background: ['claude-haiku-5-5'],
  },
  setUp: (place) => [
    {
      to: '~/.claude/settings.json',
      text: jsonText({ env: { ANTHROPIC_BASE_URL: place.url, ANTHROPIC_AUTH_TOKEN: place.key, ...modelVariables(place) } }),
    },
  ],
  starts: [
    {
      role: 'main',
      tools: true,
      // 32,000 for a name that it does not know, 128,000 for one that it knows.
      body: { max_tokens: 128_000, stream: true, thinking: { type: 'adaptive' }, system: [{ type: 'text', text: 'You are an agent.' }] },
      headers: { 'anthropic-version': '2023-06-01' },
    },
    { role: 'small', tools: false, body: { max_tokens: 32_000, stream: true }, headers: { 'anthropic-version': '2023-06-01' } },
  ],
}
