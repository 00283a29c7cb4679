/** Anchors that GitHub gives to the headings of a Markdown page. */
export function headingAnchors(text: string): string[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
