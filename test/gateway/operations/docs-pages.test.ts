/** `/docs`: every operation has its section, the pages are sound and load nothing from elsewhere, and their examples run. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parseHTML } from 'linkedom'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { deletionRank } from '../../support/deletion-rank.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { plainNode } from '../../support/program.ts'
import { REFUSING_URL } from '../../support/upstream.ts'
import { WEBHOOK_SECRET } from '../../support/webhook-receiver.ts'
import { asObject, asObjectList, type DocumentOperation, documentOperations } from '../formats/openapi-rules.ts'

const PLAIN = 'sk-router-v1-plain0123456789abcdef'
const BOSS = 'sk-router-v1-boss0123456789abcdef'
/** The pair of RFC 7636, appendix B, which the examples of sign-in show. */
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const CALLBACK = 'https://app.example/back'

const config = `
events: { receivers: [ { name: ops, url: "${REFUSING_URL}", secret: "${WEBHOOK_SECRET}" } ] }
budgets: { team-a: { monthly: "100" } }
auth:
  sign_in: { callbacks: [ "${CALLBACK}" ] }
  keys:
    - { name: plain, key: "${PLAIN}" }
    - { name: boss, key: "${BOSS}", management: true }
providers:
  sim: { dialect: sim }
  acme: { dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", key: acme-0123456789, pass_through: { price: "0" } }
models:
  sim/echo: { context: 4096, endpoints: [{ provider: sim, model: echo }] }
  sim/embed: { kind: embedding, context: 4096, endpoints: [{ provider: sim, model: embed }] }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
presets:
  support: { model: sim/echo, parameters: { temperature: 0.5 } }
`
const gateway = await startGateway(config)
t.teardown(() => gateway.close())

const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as JsonObject
const operations = documentOperations(document)
const slugs = asObjectList(document.tags).map(({ name }) => String(name).toLowerCase())
const paths = ['/docs', ...slugs.map((slug) => `/docs/${slug}`), '/docs/schemas']

interface FetchedPage {
  path: string
  reply: Response
  html: string
  page: ReturnType<typeof parseHTML>['document']
}

async function pageAt(path: string): Promise<FetchedPage> {
  const reply = await fetch(gateway.url + path)
  const html = await reply.text()
  return { path, reply, html, page: parseHTML(html).document }
}

const pages = await Promise.all(paths.map(pageAt))
const operationPage = ({ operation }: DocumentOperation): FetchedPage => {
  const [tag] = operation.tags as string[]
  return pages[paths.indexOf(`/docs/${tag.toLowerCase()}`)]
}
const operationSection = (described: DocumentOperation) =>
  operationPage(described).page.getElementById(String(described.operation.operationId))
type Section = ReturnType<typeof operationSection>

t.test('every operation has a section with its path, its fields and its replies, and a line in the menu of every page', async (t) => {
  const everyOperation = (what: string, assert: (t: Test, described: DocumentOperation, section: Section, where: string) => void) =>
    every(t, what, (t) => {
      for (const described of operations) assert(t, described, operationSection(described), String(described.operation.operationId))
    })
  await everyOperation('its path', (t, { method, path }, section, where) =>
    t.equal(section?.querySelector('.address')?.textContent, `${method.toUpperCase()} /v1${path}`, where),
  )
  await everyOperation('its fields', (t, { operation }, section, where) => {
    for (const { name } of asObjectList(operation.parameters)) t.match(section?.textContent, String(name), where)
  })
  await everyOperation('its replies', (t, { operation }, section, where) => {
    for (const status of Object.keys(asObject(operation.responses))) t.match(section?.textContent, status, where)
  })
  await everyOperation('an example in each language', (t, _, section, where) => {
    for (const language of ['curl', 'python', 'typescript']) t.ok(section?.querySelector(`pre[data-language="${language}"]`), where)
  })
  await everyOperation('a line in every menu', (t, described, _, where) => {
    for (const { page, path } of pages)
      t.ok(page.querySelector(`nav a[href="${operationPage(described).path}#${where}"]`), `${where} in the menu of ${path}`)
  })
  await every(t, 'every schema has its fields', (t) => {
    for (const name of Object.keys(asObject(asObject(document.components).schemas)))
      t.ok(pages.at(-1)?.page.getElementById(name)?.querySelector('.fields, .type'), name)
  })
})

t.test('pages are sound: every element ends, ids are unique, links lead somewhere, controls have names', async (t) => {
  const ids = new Map(pages.map(({ path, page }) => [path, [...page.querySelectorAll('[id]')].map(({ id }) => id)]))
  const everyPage = (what: string, assert: (t: Test, fetched: FetchedPage) => void) =>
    every(t, what, (t) => {
      for (const fetched of pages) assert(t, fetched)
    })
  await everyPage('its head, its title, its size', (t, { path, html, page }) => {
    t.match(html, /^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">/)
    t.equal(page.querySelectorAll('h1').length, 1, path)
    t.equal(page.querySelectorAll('title').length, 1, path)
    t.ok(html.length < 200_000, `${path}: ${html.length} bytes`)
  })
  await everyPage('all elements end', (t, { path, html }) => {
    const open = [...html.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/g)].reduce<string[]>((stack, [tag, closes, name, rest]) => {
      if (closes) {
        const ended = stack.pop()
        if (ended !== name) t.fail(`${path}: ${tag} ends <${ended}>`)
      }
      if (!closes && !rest.endsWith('/') && !['meta', 'link', 'input', 'wbr'].includes(name)) stack.push(name)
      return stack
    }, [])
    t.same(open, [], path)
  })
  await everyPage('its ids are unique, and its links lead somewhere', (t, { path, page }) => {
    t.equal(new Set(ids.get(path)).size, ids.get(path)?.length, `${path}: ids`)
    for (const link of page.querySelectorAll('a')) {
      const [target, id] = (link.getAttribute('href') ?? '').split('#')
      if (target === '/openapi.json') continue
      const there = ids.get(target === '' ? path : target)
      if (!there || (id !== undefined && !there.includes(id))) t.fail(`${path}: ${link.getAttribute('href')} leads nowhere`)
    }
  })
  await everyPage('its controls have names', (t, { path, page }) => {
    for (const control of page.querySelectorAll('button, input, select'))
      t.ok(control.getAttribute('aria-label') ?? control.textContent, `${path}: ${control.outerHTML}`)
  })
})

t.test('loads nothing from other origins, and the policy allows nothing else', async (t) => {
  await every(t, 'the headers of every page', (t) => {
    for (const { path, reply } of pages) {
      t.equal(
        reply.headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        path,
      )
      t.equal(reply.headers.get('x-content-type-options'), 'nosniff')
    }
  })
  await every(t, 'no page loads or runs anything of another place', (t) => {
    for (const { path, html, page } of pages) {
      t.notMatch(html, /<img|<iframe|<form|<style|\bon\w+=|style="|<script>/i, path)
      for (const element of page.querySelectorAll('[src], [href], [action], [srcset], [data], [poster]'))
        t.match(element.getAttribute('src') ?? element.getAttribute('href'), /^(#|\/docs|\/openapi\.json$)/, path)
    }
  })
  for (const [file, type] of [
    ['page.css', 'text/css; charset=utf-8'],
    ['page.js', 'text/javascript; charset=utf-8'],
  ]) {
    const reply = await fetch(`${gateway.url}/docs/${file}`)
    t.equal(reply.headers.get('content-type'), type)
    t.notMatch(await reply.text(), /url\(|@import|https?:\/\/|fetch\(|XMLHttpRequest|innerHTML|\bimport\b/, file)
  }
  for (const path of ['/docs/none', '/docs/page.ts', '/docs/../package.json', '/docs/generation/more'])
    t.equal((await fetch(gateway.url + path)).status, 404, path)
  t.equal((await fetch(`${gateway.url}/docs/`)).status, 200)
})

/** Things that the examples name, made in this gateway: each text of an example with the one that stands for it here. */
async function madeIn({ url }: Gateway): Promise<Map<string, string>> {
  const post = async (path: string, body: string | FormData, key: string): Promise<JsonObject> => {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined
    const reply = await fetch(url + path, { method: 'POST', body, headers: { authorization: `Bearer ${key}`, ...type } })
    return (await reply.json()) as JsonObject
  }
  const form = new FormData()
  form.append('file', new File(['Hello.'], 'notes.txt'))
  form.append('purpose', 'user_data')
  const key = asObject((await post('/v1/keys', '{"name":"made"}', BOSS)).data)
  const rotated = asObject((await post('/v1/keys', '{"name":"rotated"}', BOSS)).data)
  const guardrail = asObject((await post('/v1/guardrails', '{"name":"made"}', BOSS)).data)
  const byok = asObject((await post('/v1/byok', '{"provider":"acme","key":"acme-abc123abc123"}', BOSS)).data)
  const chat = await post('/v1/chat/completions', '{"model":"sim/echo","messages":[{"role":"user","content":"Hello"}]}', PLAIN)
  const file = await post('/v1/files', form, PLAIN)
  const [member] = asObjectList((await post('/v1/workspaces/default/members/add', '{"user_ids":["eve@example.com"]}', BOSS)).data)
  const demand = { callback_url: CALLBACK, code_challenge: CHALLENGE, code_challenge_method: 'S256' }
  const code = asObject((await post('/v1/auth/keys/code', JSON.stringify(demand), PLAIN)).data)
  const [delivery] = await eventually('the delivery of the event of the key', async () => {
    const reply = await fetch(`${url}/v1/events/deliveries`, { headers: { authorization: `Bearer ${BOSS}` } })
    const made = asObjectList(((await reply.json()) as JsonObject).data)
    return made.length > 0 && made
  })
  const shownExample = (path: string, name: string): string => {
    const parameters = asObjectList(operations.find((one) => one.path === path)?.operation.parameters)
    return String(parameters.find((one) => one.name === name)?.example)
  }
  return new Map([
    [shownExample('/keys/{hash}', 'hash'), String(key.hash)],
    [shownExample('/keys/{hash}/rotate', 'hash'), String(rotated.hash)],
    [shownExample('/guardrails/{id}', 'id'), String(guardrail.id)],
    [shownExample('/byok/{id}', 'id'), String(byok.id)],
    [shownExample('/members/{id}', 'id'), String(member?.id)],
    [shownExample('/generation', 'id'), String(chat.id)],
    [shownExample('/files/{file_id}', 'file_id'), String(file.id)],
    [shownExample('/events/{id}', 'id'), String(delivery?.event)],
    ['the-code', String(code.id)],
  ])
}

interface Example {
  at: string
  code: string
  key: string
  status: number
}

/** Every example of a language in an order in which they can run: what sets comes first, and what deletes last. */
function examplesIn(language: string, at: Gateway, names: ReadonlyMap<string, string>): Example[] {
  const first = ['createOrganization', 'createWorkspace']
  const rank = ({ method, path, operation }: (typeof operations)[number]): number => {
    if (method === 'delete') return deletionRank(path)
    return first.includes(String(operation.operationId)) ? -2 : method === 'put' ? -1 : 0
  }
  const sorted = [...operations].sort((a, b) => rank(a) - rank(b))
  return sorted.flatMap((described) => {
    const { operation } = described
    const [good] = Object.keys(asObject(operation.responses))
    const blocks = [...(operationSection(described)?.querySelectorAll(`pre[data-language="${language}"]`) ?? [])]
    return blocks.map(({ textContent }, index) => {
      let code = (textContent ?? '').replaceAll('http://127.0.0.1:8080', at.url)
      for (const [shown, actual] of names) code = code.replaceAll(shown, actual)
      return {
        at: `${operation.operationId} ${index}`,
        code,
        key: /Only for management keys of/.test(String(operation.description)) ? BOSS : PLAIN,
        // Its key has no earlier secret.
        status: operation.operationId === 'endKeyOverlap' ? 409 : Number(good),
      }
    })
  })
}

const run = promisify(execFile)
const outcomesIn = (output: string): string[] => [...output.matchAll(/^RAN (.*)$/gm)].map(([, line]) => line)

t.test('every curl example runs', async (t) => {
  const own = await startGateway(config)
  t.teardown(() => own.close())
  const cwd = t.testdir({ 'notes.txt': 'Hello.' })
  const examples = examplesIn('curl', own, await madeIn(own))
  t.ok(examples.length > operations.length)
  // One shell for all, since each curl takes longer to start than to run.
  const script = examples.map(({ at, code, key }) => `KEY=${key}\n${code} -sS -w '\\nRAN ${at}: %{http_code}\\n'`).join('\n')
  const { stdout } = await run('bash', ['-c', script], { cwd, env: { PATH: process.env.PATH } })
  t.same(
    outcomesIn(stdout),
    examples.map(({ at, status }) => `${at}: ${status}`),
    stdout,
  )
})

t.test('every TypeScript example of the OpenAI SDK runs', async (t) => {
  const own = await startGateway(config)
  t.teardown(() => own.close())
  const directory = t.testdir({ 'notes.txt': 'Hello.' })
  const examples = examplesIn('typescript', own, await madeIn(own)).filter(({ code }) => code.includes("from 'openai'"))
  t.ok(examples.length > operations.length - 5)
  // One process for all: each example is a function, and what it imports stands above.
  const functions = examples.map(
    ({ at, code, key }) =>
      `process.env.KEY = '${key}'\nawait (async () => {\n${code.replace(/^import .*$/gm, '')}\n})().then(() => say('${at}', 'ok'), (error) => say('${at}', error.status ?? error))`,
  )
  const head = `import { createReadStream } from 'node:fs'
import OpenAI from 'openai'
const say = (at, what) => process.stdout.write('RAN ' + at + ': ' + what + '\\n')
process.chdir('${directory}')
`
  // Packages are found from the folder in which the process starts.
  const [command, args] = plainNode(['--input-type=module', '--eval', head + functions.join('\n')])
  const { stdout } = await run(command, args, { cwd: import.meta.dirname })
  t.same(
    outcomesIn(stdout),
    examples.map(({ at, status }) => `${at}: ${status < 300 ? 'ok' : status}`),
  )
})
