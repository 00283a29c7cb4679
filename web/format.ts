/** Numbers, money, times as text. One place, so that every page writes them alike. */
import { zoneOptions } from './zone.ts'

const LOCALE = 'en-US'
const count = new Intl.NumberFormat(LOCALE)
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const NONE = '–'

type Amount = number | null | undefined

export const formatCount = (value: Amount): string => (value == null ? NONE : count.format(value))

/** Such as 1.2M, for what needs no exact figure. */
export const formatShort = (value: Amount): string => (value == null ? NONE : short.format(value))

/** With as many digits as the size needs, such as 0.07, 4.2, 123. */
export function formatRate(value: Amount): string {
  if (value == null) return NONE
  return count.format(Number(value.toFixed(value < 1 ? 2 : value < 100 ? 1 : 0)))
}

/** USD: cents from one dollar on, otherwise three digits that count, as single requests cost parts of a cent. */
export function formatUsd(value: Amount): string {
  if (value == null) return NONE
  const size = Math.abs(value)
  const digits = size === 0 || size >= 1 ? 2 : Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(size))))
  return new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(value)
}

export function formatShare(value: Amount): string {
  if (value == null) return NONE
  const percent = value * 100
  if (percent === 0) return '0 %'
  return `${percent < 1 ? percent.toFixed(2) : percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`
}

export function formatMs(value: Amount): string {
  if (value == null) return NONE
  if (value < 10) return `${Number(value.toFixed(1))} ms`
  if (value < 1000) return `${Math.round(value)} ms`
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`
  return formatSeconds(value / 1000)
}

export function formatSeconds(value: Amount): string {
  if (value == null) return NONE
  const seconds = Math.floor(value)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`
}

export function formatBytes(value: Amount): string {
  if (value == null) return NONE
  return value < 1e6 ? `${Math.round(value / 1e3)} KB` : value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${(value / 1e9).toFixed(1)} GB`
}

/** Date and time to the second, in the zone of the page. */
export function formatTime(iso: string | number | Date): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? NONE : date.toLocaleString('sv-SE', zoneOptions())
}

/** Time of day to the second, in the zone of the page. */
export const formatClock = (iso: string | number | Date): string => new Date(iso).toLocaleTimeString('sv-SE', zoneOptions())
