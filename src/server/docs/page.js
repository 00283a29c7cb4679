// The script of the reference pages: theme, menu, search, examples. Every page is whole without it.
const root = document.documentElement

/** Storage may be switched off. */
function stored(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name)
    localStorage.setItem(name, value)
  } catch {}
  return null
}

// Before the page is painted, so that it does not change its colours in front of the reader.
const theme = stored('docs-theme')
if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
root.classList.add('scripted')
const language = stored('docs-language')
root.dataset.language = ['curl', 'python', 'typescript'].includes(language) ? language : 'curl'

document.addEventListener('DOMContentLoaded', () => {
  for (const element of document.querySelectorAll('header [hidden], nav > input, .tools')) element.hidden = false
  themeButton(document.querySelector('button.theme'))
  menu(document.querySelector('button.menu'), document.querySelector('nav'))
  search(document.querySelector('nav'))
  if (location.protocol.startsWith('http')) for (const span of document.querySelectorAll('.origin')) span.textContent = location.origin
  for (const panel of document.querySelectorAll('.example')) examplePanel(panel)
  showLanguage(root.dataset.language)
  followReading()
})

function themeButton(button) {
  button.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    root.dataset.theme = dark ? 'light' : 'dark'
    stored('docs-theme', root.dataset.theme)
  })
}

function menu(button, nav) {
  const show = (open) => {
    nav.classList.toggle('open', open)
    button.setAttribute('aria-expanded', String(open))
  }
  button.addEventListener('click', () => show(!nav.classList.contains('open')))
  nav.addEventListener('click', (event) => {
    if (event.target.closest('a')) show(false)
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !nav.classList.contains('open')) return
    show(false)
    button.focus()
  })
}

/** Shows the operations that have every word; groups without one are hidden. */
function search(nav) {
  const input = nav.querySelector('input')
  const groups = [...nav.querySelectorAll('details')]
  const initially = groups.map((group) => group.open)
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const fits = (link) => words.every((word) => `${link.textContent.toLowerCase()} ${link.dataset.words}`.includes(word))
    let found = 0
    for (const link of nav.querySelectorAll('a[data-words]')) {
      link.hidden = !fits(link)
      if (!link.hidden) found++
    }
    for (const [index, group] of groups.entries()) {
      const some = group.querySelector('a:not([hidden])') !== null
      group.hidden = !some
      group.open = words.length > 0 ? some : initially[index]
    }
    nav.querySelector('.nothing').hidden = found > 0
  }
  input.addEventListener('input', filter)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') nav.querySelector('a[data-words]:not([hidden])')?.click()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return
    event.preventDefault()
    input.focus()
  })
}

function showLanguage(language) {
  root.dataset.language = language
  for (const button of document.querySelectorAll('.languages button'))
    button.setAttribute('aria-pressed', String(button.dataset.language === language))
}

function examplePanel(panel) {
  const figures = [...panel.querySelectorAll('figure')]
  const choose = (value) => {
    for (const figure of figures) figure.hidden = figure.dataset.example !== value
  }
  choose('0')
  const select = panel.querySelector('select')
  select?.addEventListener('change', () => choose(select.value))
  for (const button of panel.querySelectorAll('.languages button'))
    button.addEventListener('click', () => {
      // What is above may change its height; the panel stays where it was clicked.
      const before = panel.getBoundingClientRect().top
      showLanguage(button.dataset.language)
      stored('docs-language', button.dataset.language)
      scrollBy({ top: panel.getBoundingClientRect().top - before, behavior: 'instant' })
    })
  const copy = panel.querySelector('.copy')
  copy.addEventListener('click', async () => {
    const code = panel.querySelector(`figure:not([hidden]) pre[data-language="${root.dataset.language}"]`)
    copy.textContent = (await copied(code.textContent)) ? 'Copied' : 'Select and copy by hand'
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 1500)
  })
}

/** Browsers give the clipboard to pages of HTTPS and of the own machine; elsewhere the old command does it. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}

/** Marks the operation in the menu that is being read. */
function followReading() {
  const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.href, link]))
  const mark = (id) => {
    const link = links.get(new URL(`#${id}`, location.href).href)
    if (!link) return
    document.querySelector('nav a.reading')?.classList.remove('reading')
    link.classList.add('reading')
  }
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) mark(entry.target.id)
    },
    { rootMargin: '-15% 0px -75% 0px' },
  )
  for (const section of document.querySelectorAll('main section[id]')) seen.observe(section)
}
