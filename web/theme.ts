/** Light or dark: as the system has it, or as the visitor chose. */
const NAME = 'control-room-theme'

export type Theme = 'light' | 'dark'

/** Storage may be switched off. */
function stored(value?: Theme): string | null {
  try {
    if (value === undefined) return localStorage.getItem(NAME)
    localStorage.setItem(NAME, value)
  } catch {}
  return null
}

export function applyTheme(): void {
  const theme = stored()
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
  stored(theme)
  dispatchEvent(new Event('themechange'))
}
