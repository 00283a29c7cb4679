import t from 'tap'
import { pours, hostileScene, siteTools, SSE, MB } from '../support/hostile-scene.ts'
import { deep, remote, result, says, lines } from '../support/hostile-tools.ts'
import { ran, calls } from '../support/tool-scene.ts'
t.setTimeout(120000)
t.test('time', async (t) => {
  const one = await hostileScene(t, { mcp: 'seconds: 3' })
  one.script((seen) => (ran(seen) || !seen.body.includes('far_look') ? { text: ['done'] } : { calls: calls('router_far_look', {}) }))
  const notices = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`.repeat(500)
  const blocks = `{"content":[${Array.from({length: 200_000}, () => '{"type":"text","text":"x"}').join(',')}]}`
  const nulls = `{"content":[${'{},'.repeat(1_000_000)}{}]}`
  const big = `{"content":[{"type":"text","text":"${'x'.repeat(7*MB)}"}]}`
  const manyTools = `{"tools":[${Array.from({length: 80_000}, (_, i) => `{"name":"t${i}","inputSchema":{"type":"object"}}`).join(',')}]}`
  const junk: any = {
    'fine': [() => ({ result: { content: [] } }), ['tools/call']],
    'blocks': [result(blocks), ['tools/call']],
    'nulls': [result(nulls), ['tools/call']],
    'big': [result(big), ['tools/call']],
    'tools': [result(manyTools), ['tools/list']],
  }
  let stall = 0
  let last = performance.now(); setInterval(() => { const n = performance.now(); stall = Math.max(stall, n - last); last = n }, 1).unref()
  for (const [k, [m, methods]] of Object.entries<any>(junk)) for (const method of methods) {
    one.here.serve = remote(method, m)
    await new Promise((r) => setTimeout(r, 50))
    stall = 0
    const t0 = performance.now()
    const { output } = await one.ask('responses', { input: 'Go.', tools: [siteTools(one)] })
    console.log(k.padEnd(26), method.padEnd(12), Math.round(performance.now() - t0), 'stall', Math.round(stall), JSON.stringify(output[method === 'tools/call' ? 1 : 0]?.error))
  }
})
