/** The adapters against stand-ins that speak the engines' own wires. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { engines } from '../../src/services/search/engines/index.ts'
import { type EngineAccount, type SearchQuery, type SearchResult, searchWeb } from '../../src/services/search/index.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../support/upstream.ts'

const QUERY: SearchQuery = { text: 'tall trees', count: 3, characters: 1000, allowed: [], excluded: [] }

async function standIn(t: Test, answer: (seen: Seen) => Answer): Promise<Upstream> {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  return upstream
}

function account(name: string, url: string): EngineAccount {
  const engine = engines.find((one) => one.name === name)
  if (!engine) throw new Error(name)
  return { engine, url, key: 'engine-key', price: 0 }
}

async function search(upstream: Upstream, name: string, more: Partial<SearchQuery> = {}): Promise<{ results: SearchResult[]; seen: Seen }> {
  const options = { clock: new FakeClock(), signal: new AbortController().signal }
  const results = await searchWeb(account(name, upstream.url), { ...QUERY, ...more }, options)
  const seen = upstream.requests.at(-1)
  if (!seen) throw new Error('nothing was asked')
  return { results, seen }
}

const asked = (seen: Seen): Record<string, string> => Object.fromEntries(new URL(seen.path, 'http://engine').searchParams)

t.test('SearXNG: GET /search, format json', async (t) => {
  const upstream = await standIn(t, () =>
    jsonAnswer({
      query: 'tall trees',
      number_of_results: 0,
      results: [
        {
          url: 'https://trees.example/a',
          title: 'Trees',
          content: 'Tall ones.',
          publishedDate: '2025-05-01T00:00:00',
          engine: 'duckduckgo',
          template: 'default.html',
          parsed_url: ['https', 'trees.example', '/a', '', '', ''],
          engines: ['duckduckgo'],
          positions: [1],
          score: 1,
          category: 'general',
        },
        { url: 'https://trees.example/b', title: 'More', content: null },
      ],
      answers: [],
      corrections: [],
      infoboxes: [],
      suggestions: [],
      unresponsive_engines: [['qwant', 'timeout']],
    }),
  )
  const { results, seen } = await search(upstream, 'searxng', { allowed: ['trees.example', '*.wood.example/x'] })
  t.equal(seen.method, 'GET')
  t.equal(new URL(seen.path, 'http://x').pathname, '/search')
  t.same(asked(seen), { q: 'tall trees (site:trees.example OR site:wood.example/x)', format: 'json' })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees', content: 'Tall ones.', published: '2025-05-01T00:00:00' },
    { url: 'https://trees.example/b', title: 'More', content: '' },
  ])
})

t.test('Brave: GET /res/v1/web/search with the key in a header, 400 characters and 50 words', async (t) => {
  const upstream = await standIn(t, () =>
    jsonAnswer({
      type: 'search',
      query: { original: 'tall trees', more_results_available: true },
      web: {
        type: 'search',
        results: [
          {
            title: 'Trees &amp; woods',
            url: 'https://trees.example/a',
            description: 'Tall <strong>trees</strong>.',
            extra_snippets: ['One.', 'Two.'],
            page_age: '2025-05-01T00:00:00',
          },
        ],
      },
    }),
  )
  const { results, seen } = await search(upstream, 'brave', {
    location: { country: 'NO', timezone: 'Europe/Oslo' },
    excluded: ['spam.example'],
  })
  t.equal(seen.method, 'GET')
  t.equal(new URL(seen.path, 'http://x').pathname, '/res/v1/web/search')
  t.equal(seen.headers['x-subscription-token'], 'engine-key')
  t.equal(seen.headers['x-loc-timezone'], 'Europe/Oslo')
  t.match(asked(seen), { q: 'tall trees -site:spam.example', count: '3', country: 'NO', result_filter: 'web' })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees & woods', content: 'Tall trees.\nOne.\nTwo.', published: '2025-05-01T00:00:00' },
  ])
  await every(t, 'every text', async (t) => {
    for (const text of ['word '.repeat(300), 'x'.repeat(3000), 'longer words here '.repeat(100)]) {
      const { q } = asked((await search(upstream, 'brave', { text, allowed: ['trees.example', 'b.example'], count: 25 })).seen)
      t.ok(q.length <= 400, `${q.length}`)
      t.ok(q.split(' ').length <= 50)
      t.match(q, / \(site:trees\.example OR site:b\.example\)$/)
    }
  })
  t.equal(asked((await search(upstream, 'brave', { count: 25 })).seen).count, '20', 'its most')
})

t.test('Exa: POST /search with highlights, both lists of domains', async (t) => {
  const upstream = await standIn(t, () =>
    jsonAnswer({
      requestId: 'r',
      resolvedSearchType: 'neural',
      results: [
        {
          id: 'https://trees.example/a',
          url: 'https://trees.example/a',
          title: 'Trees',
          author: null,
          publishedDate: '2025-05-01T00:00:00.000Z',
          highlights: ['Tall.', 'Old.'],
          highlightScores: [0.5, 0.4],
        },
        { id: 'b', url: 'https://trees.example/b', title: null, text: 'All of it' },
      ],
      costDollars: { total: 0.007 },
    }),
  )
  const more = {
    allowed: ['trees.example/a', '*.trees.example', 'trees.example/b'],
    excluded: ['x.trees.example'],
    location: { country: 'NO' },
    mode: 'fast',
  }
  const { results, seen } = await search(upstream, 'exa', more)
  t.equal(`${seen.method} ${seen.path}`, 'POST /search')
  t.equal(seen.headers['x-api-key'], 'engine-key')
  t.same(seen.json, {
    query: 'tall trees',
    numResults: 3,
    type: 'fast',
    contents: { highlights: { maxCharacters: 1000 } },
    includeDomains: ['trees.example/a', '*.trees.example', 'trees.example/b'],
    excludeDomains: ['x.trees.example'],
    userLocation: 'NO',
  })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees', content: 'Tall.\nOld.', published: '2025-05-01T00:00:00.000Z' },
    { url: 'https://trees.example/b', title: 'trees.example', content: 'All of it' },
  ])
  t.equal((await search(upstream, 'exa', { mode: 'turbo' })).seen.json.type, 'auto', 'a mode of another engine')
})

t.test('Tavily: POST /search with a bearer token', async (t) => {
  const upstream = await standIn(t, () =>
    jsonAnswer({
      query: 'tall trees',
      answer: null,
      images: [],
      results: [{ title: 'Trees', url: 'https://trees.example/a', content: 'Tall.', score: 0.9, raw_content: null }],
      response_time: '1.2',
      request_id: 'r',
    }),
  )
  const { results, seen } = await search(upstream, 'tavily', {
    allowed: ['*.example', 'trees.example'],
    mode: 'advanced',
    text: 'y '.repeat(400),
  })
  t.equal(`${seen.method} ${seen.path}`, 'POST /search')
  t.equal(seen.headers.authorization, 'Bearer engine-key')
  t.match(seen.json, { max_results: 3, search_depth: 'advanced', include_domains: ['example', 'trees.example'] })
  const without = await search(upstream, 'tavily', { excluded: ['spam.example', 'trees.example/b', '*.trees.example'] })
  t.same(without.seen.json.exclude_domains, ['spam.example'], 'no more than the rules say')
  t.ok(String(seen.json.query).length <= 400)
  t.same(results, [{ url: 'https://trees.example/a', title: 'Trees', content: 'Tall.' }])
})

t.test('Firecrawl: POST /v2/search with a bearer token, one list of hosts', async (t) => {
  const upstream = await standIn(t, ({ json }) => {
    // As the service has it: both lists at once, an empty query or one of more than 500 characters are refused.
    if (json.includeDomains && json.excludeDomains) return jsonAnswer({ success: false, error: 'both' }, 400)
    if (typeof json.query !== 'string' || json.query === '' || json.query.length > 500) return jsonAnswer({ success: false }, 400)
    return jsonAnswer({
      success: true,
      data: {
        web: [
          { url: 'https://trees.example/a', title: 'Trees', description: 'Tall.', position: 1 },
          { url: 'https://trees.example/b', title: null, description: null, position: 2 },
        ],
      },
      creditsUsed: 2,
      id: 'r',
    })
  })
  const { results, seen } = await search(upstream, 'firecrawl', {
    allowed: ['*.trees.example', 'https://trees.example/a', 'trees.example/b'],
    excluded: ['spam.example'],
    location: { country: 'NO' },
    text: 'y '.repeat(400),
  })
  t.equal(`${seen.method} ${seen.path}`, 'POST /v2/search')
  t.equal(seen.headers.authorization, 'Bearer engine-key')
  t.equal(seen.headers['content-type'], 'application/json')
  const { query, ...rest } = seen.json
  t.ok(String(query).length <= 500)
  t.same(rest, { limit: 3, sources: ['web'], includeDomains: ['trees.example'], country: 'NO' })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees', content: 'Tall.' },
    { url: 'https://trees.example/b', title: 'trees.example', content: '' },
  ])
  const without = await search(upstream, 'firecrawl', {
    excluded: ['*.example', 'b.example/x', 'trees.example/a', 'other.example'],
    count: 25,
  })
  t.same(
    without.seen.json,
    { query: 'tall trees', limit: 25, sources: ['web'], excludeDomains: ['other.example'] },
    'no more than the rules say',
  )
  t.same(without.results, [], 'what it could not be told is seen to')
  const refusing = await standIn(t, () => jsonAnswer({ success: false, error: 'engine-key' }))
  await t.rejects(search(refusing, 'firecrawl'), { message: 'refused' })
})

t.test('Parallel: POST /v1/search with objective, query and settings', async (t) => {
  const upstream = await standIn(t, ({ json }) => {
    const queries = json.search_queries as string[]
    // As the service has it: one to five queries of 200 characters, a mode that it knows.
    const fine = queries.length > 0 && queries.length <= 5 && queries.every((one) => one.length <= 200)
    if (!fine || !['turbo', 'basic', 'advanced', undefined].includes(json.mode as string | undefined))
      return jsonAnswer({ type: 'error', error: { ref_id: 'r', message: 'no' } }, 422)
    return jsonAnswer({
      search_id: 'search_1',
      results: [
        { url: 'https://trees.example/a', title: 'Trees', publish_date: '2025-05-01', excerpts: ['Tall.', 'Old.'] },
        { url: 'https://trees.example/b', title: null, publish_date: null, excerpts: [] },
      ],
      warnings: null,
      usage: [{ name: 'sku_search', count: 1 }],
      session_id: 'session_1',
    })
  })
  const { results, seen } = await search(upstream, 'parallel', {
    allowed: ['*.trees.example', 'trees.example/a', 'trees.example/b'],
    excluded: ['x.trees.example'],
    location: { country: 'NO' },
    mode: 'turbo',
  })
  t.equal(`${seen.method} ${seen.path}`, 'POST /v1/search')
  t.equal(seen.headers['x-api-key'], 'engine-key')
  t.same(seen.json, {
    objective: 'tall trees',
    search_queries: ['tall trees'],
    mode: 'turbo',
    advanced_settings: {
      max_results: 3,
      location: 'no',
      source_policy: { include_domains: ['trees.example'] },
      excerpt_settings: { max_chars_per_result: 1000 },
    },
  })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees', content: 'Tall.\nOld.', published: '2025-05-01' },
    { url: 'https://trees.example/b', title: 'trees.example', content: '' },
  ])
  const long = await search(upstream, 'parallel', {
    text: 'y '.repeat(400),
    mode: 'deep',
    excluded: ['*.b.example', 'trees.example/b', 'c.example'],
  })
  t.equal(long.seen.json.mode, undefined, 'a mode of another engine')
  t.match(long.seen.json, { advanced_settings: { source_policy: { exclude_domains: ['c.example'] } } })
  t.same(
    long.results.map(({ url }) => url),
    ['https://trees.example/a'],
  )
})

t.test('Perplexity: POST /search with one list, domains not wanted behind a minus', async (t) => {
  const upstream = await standIn(t, ({ json }) => {
    const { search_domain_filter: domains = [], max_results: most, max_tokens_per_page: tokens } = json
    // As the service has it: 20 domains, all wanted or all not.
    const signs = new Set((domains as string[]).map((one) => one.startsWith('-')))
    const fine = (domains as string[]).length <= 20 && signs.size <= 1 && Number(most) <= 20 && Number(tokens) <= 16_384
    if (!fine) return jsonAnswer({ error: { message: 'no', type: 'bad_request', code: 400 } }, 400)
    return jsonAnswer({
      results: [
        { title: 'Trees', url: 'https://trees.example/a', snippet: 'Tall.', date: '2025-05-01', last_updated: '2025-06-01' },
        { title: 'Bush', url: 'https://bush.example/', snippet: 'x'.repeat(2000), date: null, last_updated: null },
      ],
      id: 'r',
      server_time: null,
    })
  })
  const { results, seen } = await search(upstream, 'perplexity', { location: { country: 'NO' } })
  t.equal(`${seen.method} ${seen.path}`, 'POST /search')
  t.equal(seen.headers.authorization, 'Bearer engine-key')
  t.same(seen.json, { query: 'tall trees', max_results: 3, max_tokens_per_page: 500, country: 'NO' })
  t.same(results, [
    { url: 'https://trees.example/a', title: 'Trees', content: 'Tall.', published: '2025-05-01' },
    { url: 'https://bush.example/', title: 'Bush', content: 'x'.repeat(1000) },
  ])
  const both = await search(upstream, 'perplexity', { allowed: ['*.example'], excluded: ['bush.example'], count: 25, characters: 100_000 })
  t.same(both.seen.json.search_domain_filter, ['example'], 'it is told the wanted ones')
  t.equal(both.seen.json.max_results, 20, 'its most')
  t.same(
    both.results.map(({ url }) => url),
    ['https://trees.example/a'],
    'both lists hold for the results',
  )
  const without = await search(upstream, 'perplexity', { excluded: ['bush.example', 'trees.example/b', '*.c.example'] })
  t.same(without.seen.json.search_domain_filter, ['-bush.example'])
  await search(upstream, 'perplexity', { excluded: Array.from({ length: 30 }, (_, i) => `d${i}.example`) })
})

t.test('results are checked whatever the engine gives: addresses, domains, doubles, lengths', async (t) => {
  const pages: unknown[] = [
    { url: 'javascript:alert(1)', title: 'no' },
    { url: 'file:///etc/passwd', title: 'no' },
    { url: 7, title: 'no' },
    { url: `https://a.example/${'x'.repeat(3000)}`, title: 'no' },
    'junk',
    null,
    { url: 'https://A.example/one', title: 'One', content: `${'x'.repeat(9)}😀` },
    { url: 'https://a.example/one', title: 'again' },
    { url: 'https://notall.example/blog', title: 'no' },
    { url: 'https://sub.all.example/blog/2', title: { no: 1 }, content: ['no'] },
    { url: 'https://all.example/%62log/3', title: 't'.repeat(999) },
    { url: 'https://all.example/news', title: 'no' },
    { url: 'https://a.example/five', title: 'beyond the count' },
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, body] of Object.entries({
      searxng: { results: pages },
      exa: { results: pages },
      tavily: { results: pages },
      firecrawl: { success: true, data: { web: pages } },
      parallel: { results: pages },
      perplexity: { results: pages },
      brave: { web: { results: pages } },
    })) {
      const upstream = await standIn(t, () => jsonAnswer(body as JsonObject))
      const { results } = await search(upstream, name, { allowed: ['a.example', 'all.example/blog'], characters: 10 })
      t.same(
        results.map(({ url }) => url),
        ['https://a.example/one', 'https://sub.all.example/blog/2', 'https://all.example/%62log/3'],
        name,
      )
      t.equal(results[1].title, 'sub.all.example')
      t.equal(results[2].title.length, 300)
      if (name === 'searxng' || name === 'tavily') t.equal(results[0].content, 'xxxxxxxxx', 'no half of a character')
    }
  })
})

t.test('failures have a word for the log and never what the engine said', async (t) => {
  const cases: [answer: Answer, word: string][] = [
    [jsonAnswer({ error: 'engine-key is wrong' }, 401), 'status 401'],
    [jsonAnswer({}, 500), 'status 500'],
    [{ status: 301, headers: { location: 'http://127.0.0.1:1/' } }, 'status 301'],
    [{ body: ['<html>engine-key</html>'] }, 'unreadable'],
    [jsonAnswer([]), 'unreadable'],
    [{ before: 'reset' }, 'ECONNRESET'],
    [{ body: ['{"results":'], after: 'close' }, 'cut'],
    [{ body: [Buffer.alloc(5 * 1024 * 1024, 32)] }, 'too long'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [answer, word] of cases) {
      const upstream = await standIn(t, () => answer)
      for (const name of ['searxng', 'exa']) await t.rejects(search(upstream, name), { message: word }, `${name} ${word}`)
    }
  })
})

t.test('an engine that hangs, and a caller who leaves', async (t) => {
  const upstream = await standIn(t, () => ({ body: ['{'], after: 'stall' }))
  const clock = new FakeClock()
  const asking = { clock, signal: new AbortController().signal }
  const slow = t.rejects(searchWeb(account('searxng', upstream.url), QUERY, asking), { message: 'timeout' })
  await upstream.request(0)
  await clock.advance(10_000)
  await slow
  const caller = new AbortController()
  const left = t.rejects(searchWeb(account('searxng', upstream.url), QUERY, { clock, signal: caller.signal }), { message: 'aborted' })
  const seen = await upstream.request(1)
  caller.abort()
  await left
  t.equal((await seen.closed).aborted, true, 'the call of the engine is aborted')
  t.same(clock.waiting, [], 'its timer is gone')
  await t.rejects(searchWeb(account('searxng', upstream.url), QUERY, { clock, signal: caller.signal }), { message: 'aborted' })
  t.equal(upstream.requests.length, 2)
})
