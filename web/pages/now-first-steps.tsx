/** Page for a visitor who has only started the gateway: three steps to the first answer. */
import type { Session } from '../api.ts'
import { Section } from '../components/values.tsx'
import { pathTo } from '../router.ts'

export function FirstSteps({ session }: { session: Session }) {
  const url = session.api_url ?? 'http://127.0.0.1:8080'
  const isSimulated = session.actions.includes('sample')
  const command = `curl -N ${url}/v1/chat/completions \\
  -H "Authorization: Bearer ${isSimulated ? 'sk-router-v1-dev' : '$KEY'}" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"${isSimulated ? 'sim/echo' : 'author/model'}","stream":true,
       "messages":[{"role":"user","content":"Hello"}]}'`
  return (
    <Section title="Three steps to the first answer">
      <ol class="steps">
        <li>
          <h3>Get a key</h3>
          {isSimulated ? (
            <p>
              The development key <code>sk-router-v1-dev</code> works on this machine until a real provider is set.
            </p>
          ) : (
            <p>Callers need a key of this gateway, with a limit if you like.</p>
          )}
          <a class="button small" href={pathTo(['keys'])}>
            Make a key
          </a>
        </li>
        <li>
          <h3>Choose a model</h3>
          <p>
            {isSimulated
              ? 'Simulated models answer without a provider. Set OPENAI_API_KEY or another provider’s key for real ones.'
              : 'Every model with its providers, prices and measured speed.'}
          </p>
          <a class="button small" href={pathTo(['models'])}>
            Show the models
          </a>
        </li>
        <li>
          <h3>Send a request</h3>
          <p>{isSimulated ? 'Run this in a terminal, or press “Make sample traffic” above.' : 'Run this in a terminal.'}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
          <pre tabIndex={0}>
            <code>{command}</code>
          </pre>
        </li>
      </ol>
    </Section>
  )
}
