/** The way to the other pages of a list that the API pages, where it has some. */
import { formatCount } from '../format.ts'

/** Rows of a page. */
export const PAGE = 25

/** @param text of the address. @returns rows before the page, from 0. */
export const firstShown = (text: string | undefined): number => (/^\d{1,9}$/.test(text ?? '') ? Number(text) : 0)

export interface PageTurnsProps {
  /** Names the list to screen readers, such as `Pages of keys`. */
  readonly label: string
  /** Rows before the page. */
  readonly from: number
  readonly total: number
  readonly onTurn: (from: number) => void
}

export function PageTurns({ label, from, total, onTurn }: PageTurnsProps) {
  if (total <= PAGE && from === 0) return null
  return (
    <nav class="actions page-turns" aria-label={label}>
      <button type="button" class="button" disabled={from === 0} onClick={() => onTurn(Math.max(0, from - PAGE))}>
        Previous page
      </button>
      <span class="number">
        {formatCount(Math.min(from + 1, total))} to {formatCount(Math.min(from + PAGE, total))} of {formatCount(total)}
      </span>
      <button type="button" class="button" disabled={from + PAGE >= total} onClick={() => onTurn(from + PAGE)}>
        Next page
      </button>
    </nav>
  )
}
