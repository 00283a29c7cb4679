/** Single values as they stand in tables and cards. */
import type { ComponentChildren } from 'preact'
import { formatMs, formatTime, formatUsd } from '../format.ts'

type Amount = number | null | undefined

/** USD, with the exact amount as its title. */
export function Money({ usd }: { usd: Amount }) {
  return (
    <span class="number" title={usd == null ? undefined : `${usd} USD`}>
      {formatUsd(usd)}
    </span>
  )
}

export function Duration({ ms }: { ms: Amount }) {
  return <span class="number">{formatMs(ms)}</span>
}

/** Time in the zone of the page, with UTC as its title. */
export function Time({ iso }: { iso: string | null | undefined }) {
  if (!iso) return <span class="quiet">–</span>
  return (
    <time class="number" dateTime={iso} title={iso}>
      {formatTime(iso)}
    </time>
  )
}

export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'accent'

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** One figure with its name. @param detail smaller, below. */
export function Figure({
  label,
  value,
  detail,
  tone,
}: {
  label: string
  value: ComponentChildren
  detail?: ComponentChildren
  tone?: Tone
}) {
  return (
    <div class={tone ? `figure ${tone}` : 'figure'}>
      <dt>{label}</dt>
      <dd>
        <span class="figure-value">{value}</span>
        {detail && <span class="figure-detail">{detail}</span>}
      </dd>
    </div>
  )
}

export function Figures({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <dl class="figures" aria-label={label}>
      {children}
    </dl>
  )
}

/** A part of a page. @param actions buttons beside its title. */
export function Section({ title, actions, children }: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      <header class="card-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** The title of a page. */
export function PageHead({ title, children, actions }: { title: string; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {children && <p class="lead">{children}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </header>
  )
}

/** A file that the browser saves, such as CSV. @param name '' where the reply has one. */
export function DownloadLink({ href, name, children }: { href: string; name: string; children: ComponentChildren }) {
  return (
    <a class="button small" href={href} download={name}>
      {children}
    </a>
  )
}
