/** Notes in the place of content: loading, nothing there, an error. */
import type { ComponentChildren } from 'preact'
import { ApiError } from '../api.ts'

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="note loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {what}…
    </p>
  )
}

export function EmptyNote({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="note empty">
      <p class="note-title">{title}</p>
      {children && <div>{children}</div>}
    </div>
  )
}

export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <div class="note error" role="alert">
      <p>
        {error.message}
        {error instanceof ApiError && error.status > 0 && <span class="quiet"> (status {error.status})</span>}
      </p>
      {onRetry && (
        <button type="button" class="button small" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
