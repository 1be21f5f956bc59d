import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { openTestApi } from '../../fixtures/api/api.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { PROBLEMS } from '../api/problem.js'
import { operations } from '../app/operations.js'

t.test('documentation pages', async (t) => {
  const database = await openMigratedSqlite()
  const logged: string[] = []
  const note = (_fields: object, event: string) => void logged.push(event)
  const log = { debug: note, info: note, warn: note, error: note }
  const api = await openTestApi({ database, operations, log })
  t.teardown(async () => {
    await api.close()
    await database.close()
  })
  const get = async (path: string) => {
    const response = await fetch(`${api.url}${path}`)
    return { response, text: await response.text() }
  }

  const { response, text } = await get('/docs')
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/html/)
  const policy = response.headers.get('content-security-policy') ?? ''
  t.match(policy, "default-src 'none'")
  t.notMatch(policy, 'unsafe')
  t.ok(response.headers.has('x-request-id'))
  t.notMatch(text, /<script>|<style| style=| on\w+=|https?:/, 'nothing inline, nothing from elsewhere')
  const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map((match) => String(match[1]))
  t.ok(files.length >= 4)
  for (const file of files) {
    const asset = await get(`/${file}`)
    t.equal(asset.response.status, 200, file)
    t.ok(asset.text.length > 50, file)
    t.equal(asset.response.headers.get('x-content-type-options'), 'nosniff')
  }
  const start = await get('/docs/assets/start.js')
  t.match(start.response.headers.get('content-type'), /javascript/)
  t.match(start.text, 'v1/openapi.json')
  t.equal((await get('/docs/assets/swagger-ui-bundle.js.map')).response.status, 404, 'only what is named')
  t.equal((await get('/docs/assets/..%2fpackage.json')).response.status, 404)

  const ask = async (encoding: string, tag = '"other"') => {
    // With its default cache-control, fetch asks for the whole body.
    const headers = { 'accept-encoding': encoding, 'if-none-match': tag, 'cache-control': 'max-age=0' }
    const answer = await request(`${api.url}/v1/openapi.json`, { headers })
    const bytes = Buffer.from(await answer.body.arrayBuffer())
    return { status: answer.statusCode, headers: answer.headers, bytes }
  }
  const plain = await ask('identity')
  t.equal(JSON.parse(plain.bytes.toString()).info.title, 'Parley')
  const packed = await ask('gzip')
  t.equal(packed.headers['content-encoding'], 'gzip')
  t.ok(gunzipSync(packed.bytes).equals(plain.bytes), 'compressed, it is the same')
  t.ok(packed.bytes.length * 4 < plain.bytes.length, `${packed.bytes.length} of ${plain.bytes.length} bytes`)
  t.match(plain.headers.etag, /^"[\w-]{43}"$/)
  t.not(packed.headers.etag, plain.headers.etag, 'other bytes have another entity tag')
  for (const [encoding, { headers }] of [
    ['identity', plain],
    ['gzip', packed],
  ] as const) {
    t.match(headers.vary, /accept-encoding/i)
    const again = await ask(encoding, String(headers.etag))
    t.equal(again.status, 304, 'an unchanged description is not sent again')
    t.equal(again.bytes.length, 0)
    t.equal(again.headers['content-encoding'], undefined)
  }

  t.notOk(logged.includes('http.request_failed'), 'no page fails after it was sent')

  for (const [from, to] of [
    ['/', '/docs'],
    ['/docs/', '/docs'],
    ['/docs/errors/', '/docs/errors'],
    ['/favicon.ico', '/docs/assets/favicon-32x32.png'],
  ] as const) {
    const redirected = await get(from)
    t.equal(redirected.response.status, 200, from)
    t.equal(new URL(redirected.response.url).pathname, to)
  }

  const errors = await get('/docs/errors')
  t.equal(errors.response.status, 200)
  for (const code of Object.keys(PROBLEMS)) t.match(errors.text, `<h2 id="${code}">`, code)

  const missing = await get('/v1/nothing')
  const { error } = JSON.parse(missing.text)
  t.equal(error.doc_url, 'http://parley.test/docs/errors#not_found', 'an error points into that page')
})
