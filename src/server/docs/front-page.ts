/** The page at `/`, which people open first: the three next steps. It says nothing that `/docs` does not say to anyone. */
import { escaped } from './fields.ts'
import type { Reference } from './reference.ts'

const CHAT = 'createChatCompletion'

/** @param reference whose examples name a model. @returns the page, by the origin under which a browser found the gateway. */
export function frontPage({ sections }: Pick<Reference, 'sections'>): (origin: string) => string {
  const chat = sections.flatMap(({ operations }) => operations).find(({ id }) => id === CHAT)
  const model = chat?.body?.examples[0]?.value.model ?? 'author/name'
  return (origin) => pageText(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }), origin)
}

function pageText(body: string, origin: string): string {
  const curl = `curl ${origin}/v1/chat/completions \\\n  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n  -d '${body}'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>headgate</title>
<link rel="stylesheet" href="/docs/page.css">
<main>
<h1>The gateway answers</h1>
<ol>
<li><h2>Send a request</h2>
<p>With your key in <code>KEY</code>: the one that the start has printed, or one of the configuration.</p>
<pre tabindex="0"><code>${escaped(curl)}</code></pre></li>
<li><h2>Use the SDK or agent that you have</h2>
<p>Its base URL is <code>${escaped(origin)}/v1</code>; for Anthropic's SDK and Claude Code it is <code>${escaped(origin)}</code>. <a href="/docs">The reference</a> has every operation.</p></li>
<li><h2>See what happens and what it costs</h2>
<p>The control room is at the admin listener, which the start prints: <code>http://127.0.0.1:8081/control-room/</code> where nothing else is configured.</p></li>
</ol>
</main>
</html>
`
}
