/** Check that the delivered program has the control room inside: its page, and the files that the page names. */
import type { Test } from 'tap'
import { every } from '../support/every.ts'

export async function controlRoom(t: Test, admin: string): Promise<void> {
  const page = await fetch(`${admin}/control-room/`)
  t.equal(page.status, 200, 'the control room is inside')
  const names = [...(await page.text()).matchAll(/"(\/control-room\/files\/[^"]+)"/g)].map(([, name = '']) => name)
  t.ok(names.length >= 3, 'it names a script, a style and an icon')
  await every(t, 'each file', async (t) => {
    for (const name of names) {
      const reply = await fetch(admin + name)
      t.equal(reply.status, 200, name)
      t.ok((await reply.arrayBuffer()).byteLength > 0, name)
    }
  })
}
