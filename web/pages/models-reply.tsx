/** A reply of the playground as it grows: reasoning, text, tools, images, and what it cost. All of it is text of a stranger. */
import { Component } from 'preact'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Badge, Figure, Figures } from '../components/values.tsx'
import { formatCount, formatMs, formatUsd } from '../format.ts'
import { pathTo } from '../router.ts'
import type { Reply, ToolCall } from './models-chat.ts'

export interface ReplyViewProps {
  readonly reply: Reply | undefined
  readonly error: Error | undefined
  readonly isRunning: boolean
  readonly isStopped: boolean
}

export function ReplyView({ reply, error, isRunning, isStopped }: ReplyViewProps) {
  if (!reply) return error ? <ErrorNote error={error} /> : <EmptyNote title="The reply comes here" />
  const isEmpty = reply.firstAt === undefined
  return (
    <>
      <Sums reply={reply} />
      {isRunning && isEmpty && <Loading what="Waiting for the first token" />}
      {reply.reasoning.length > 0 && (
        <details class="reasoning" open={reply.text.length === 0 || undefined}>
          <summary>Reasoning</summary>
          <Blocks blocks={reply.reasoning} label="Reasoning" />
        </details>
      )}
      {reply.text.length > 0 && <Blocks blocks={reply.text} label="Text of the reply" />}
      {reply.tools.map((call, index) => (
        <Tool key={index} call={call} />
      ))}
      {reply.images.map((address, index) => (
        <Picture key={index} address={address} />
      ))}
      {error && <ErrorNote error={error} />}
      {isStopped && (
        <p>
          <Badge tone="warn">Stopped</Badge> What has come until then is charged.
        </p>
      )}
      {reply.id && !isRunning && (
        <p class="note-line">
          <a href={pathTo(['requests', reply.id])}>Show this request step by step</a>
        </p>
      )}
    </>
  )
}

function Sums({ reply: { firstAt, endAt, usage, provider, finish } }: { reply: Reply }) {
  const spent = firstAt !== undefined && endAt !== undefined ? endAt - firstAt : 0
  const speed = usage && spent > 10 ? `${formatCount(Math.round((usage.completion_tokens * 1000) / spent))} tokens/s` : undefined
  return (
    <Figures label="The reply in figures">
      <Figure label="First token" value={formatMs(firstAt)} detail={provider} />
      <Figure label="Whole reply" value={formatMs(endAt)} detail={speed ?? finish} />
      <Figure label="Tokens out" value={formatCount(usage?.completion_tokens)} detail={usage && `${formatCount(usage.prompt_tokens)} in`} />
      <Figure label="Cost" value={formatUsd(usage?.cost)} detail={usageReasoning(usage)} />
    </Figures>
  )
}

function usageReasoning(usage: Reply['usage']): string | undefined {
  const tokens = usage?.completion_tokens_details?.reasoning_tokens
  return tokens ? `${formatCount(tokens)} tokens of reasoning` : undefined
}

function Blocks({ blocks, label }: { blocks: readonly string[]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe: scrollable-region-focusable)
    <section class="reply-text" tabIndex={0} aria-label={label}>
      {blocks.map((text, index) => (
        <Block key={index} text={text} />
      ))}
    </section>
  )
}

/** Blocks that have ended are not drawn again. */
class Block extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text
  }

  override render() {
    return <div class="block">{this.props.text}</div>
  }
}

function Tool({ call: { name, arguments: given } }: { call: ToolCall }) {
  return (
    <div class="tool-call">
      <p>
        <Badge tone="accent">Tool call</Badge> <code>{name}</code>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
      <pre tabIndex={0}>
        <code>{pretty(given)}</code>
      </pre>
    </div>
  )
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2)
  } catch {
    return json
  }
}

/** The policy of the page allows images within the reply only; others stay links, so that nothing is fetched by itself. */
function Picture({ address }: { address: string }) {
  if (/^data:image\/(png|jpeg|webp|gif);/.test(address)) return <img class="made-image" src={address} alt="Made by the model" />
  const host = /^https?:\/\//.test(address) ? URL.parse(address)?.host : undefined
  if (host)
    return (
      <p>
        <a href={address} target="_blank" rel="noreferrer noopener">
          An image at {host}
        </a>
      </p>
    )
  return <p class="quiet">An image of a form that is not shown</p>
}
