import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openService, type ServiceAnswer } from '../../../fixtures/service/service.js'
import { openLog } from '../../observe/log.js'
import { parseTraceparent } from '../../observe/tracing.js'

/*
 * A whole service in use, with everything it reports collected: log lines, traces, metrics and error bodies.
 * The reports must be correct and contain no secret and no phone number.
 */

const OPS_TOKEN = 'ops-token-of-this-test-0123456789abcdef'
const PASSWORD = 'correct-horse-battery-staple-9'
const SECRET_VALUE = 'value-of-a-stored-secret-55aa55aa'
const ROOT_KEY = 'ab'.repeat(32)
const SPOKEN = 'Asha-spoken-marker'
const NUMBER = '+919000000010'

/** An OTLP collector that keeps what it receives. */
async function openCollector() {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.once('end', () => {
      bodies.push(body)
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

t.test('health, readiness and metrics of the service', async (t) => {
  const collector = await openCollector()
  const lines: string[] = []
  const log = openLog('info', { write: (line) => lines.push(line) })
  const service = await openService(t, {
    log,
    env: {
      PARLEY_OPS_TOKEN: OPS_TOKEN,
      PARLEY_ROOT_KEY: ROOT_KEY,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    },
    agent: { callSettings: { openingLine: { text: `Hello, this is ${SPOKEN} speaking.` } } },
  })
  const { parley, keys } = service
  const refusals: ServiceAnswer[] = []
  const answers: ServiceAnswer[] = []
  const send = async (method: string, path: string, body?: unknown, headers = {}): Promise<ServiceAnswer> => {
    const answer = await service.send(method, path, body, headers)
    ;(answer.status >= 400 ? refusals : answers).push(answer)
    return answer
  }
  const none = { authorization: '' }

  // Requests of customers, valid and invalid.
  await send(
    'POST',
    '/v1/signup',
    {
      email: 'secret.person@example.com',
      password: PASSWORD,
      name: 'Person',
      organizationName: 'Org',
    },
    none,
  )
  await send('POST', '/v1/auth/login', { email: 'secret.person@example.com', password: PASSWORD }, none)
  await send('POST', '/v1/auth/login', { email: 'secret.person@example.com', password: `${PASSWORD}x` }, none)
  await send('POST', '/v1/calls', { to: NUMBER, numberId: 'nonsense', note: SECRET_VALUE })
  await send('POST', '/v1/calls', { to: '+91900000001012', numberId: service.numberId })
  await send('GET', `/v1/calls?search=${encodeURIComponent(NUMBER)}`)
  await send('GET', `/v1/calls?key=${keys.test}`)
  await send('GET', `/v1/agents/${keys.test}`)
  await send('GET', '/v1/agents', undefined, { authorization: `Bearer ${keys.test}x` })
  await send('GET', '/v1/agents', undefined, { authorization: `Bearer ${'svc_test_'}${'A'.repeat(38)}` })
  await send(
    'POST',
    '/v1/calls',
    { to: '+919000000002', numberId: service.numberId, variables: { x: SECRET_VALUE } },
    {
      'idempotency-key': SECRET_VALUE,
    },
  )
  await send(
    'POST',
    '/v1/integrations/webhooks',
    { url: `http://127.0.0.1/${SECRET_VALUE}`, events: ['call.completed'] },
    {
      authorization: `Bearer ${keys.live}`,
    },
  )
  await service.send('GET', '/v1/health', undefined, {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  })
  const callId = await service.call(NUMBER)
  await service.until('something said', () => service.of(callId, 'turn').length > 0)
  const during = await metricsOf()
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  const ended = await service.ended(callId)
  t.equal(ended.status, 'ended')

  const metrics = await metricsOf()
  for (const [name, headers] of [
    ['nobody', none],
    ['an API key', {}],
    ['another token', { authorization: `Bearer ${OPS_TOKEN}x` }],
  ] as const) {
    t.equal((await service.send('GET', '/v1/metrics', undefined, headers)).status, 401, name)
  }
  await parley.close()
  await collector.close()

  t.test('metrics', (t) => {
    t.match(during, /parley_calls\{state="(initiated|ringing|in_progress)"\} [1-9]/, 'a live call')
    t.match(metrics, /parley_rtp_packets_total\{leg="first",fate="received"\} [1-9]/)
    t.match(metrics, /parley_call_mos_count\{leg="first",direction="heard"\} [1-9]/)
    t.match(metrics, /parley_calls_ended_total\{cause="\w+",fault="none"\} [1-9]/)
    t.match(metrics, 'parley_calls{state="in_progress"} 0')
    t.match(metrics, /parley_http_requests_total\{operation="placeCall",status="201"\} [1-9]/)
    t.match(metrics, /parley_http_requests_total\{operation="placeCall",status="400"\} [1-9]/)
    t.match(metrics, /parley_http_request_seconds_count\{operation="placeCall"\} \d/)
    t.match(metrics, /parley_media_beat_lateness_seconds_count\{worker="0"\} [1-9]/)
    t.match(metrics, /parley_db_query_seconds_count [1-9]/)
    t.match(metrics, 'parley_queue_rows{queue="webhook_deliveries"} 0')
    t.match(metrics, 'parley_queue_oldest_seconds{queue="webhook_deliveries"} 0')
    t.match(metrics, '# TYPE parley_webhook_attempts_total counter')
    t.match(metrics, /parley_sip_messages_total\{direction="(in|out)",kind="INVITE"\} [1-9]/)
    t.match(metrics, /parley_sip_messages_total\{direction="(in|out)",kind="2xx"\} [1-9]/)
    t.match(metrics, /parley_sip_dialogs \d/)
    t.match(metrics, 'parley_sip_bans{offence="scanner"} 0')
    t.match(metrics, 'parley_call_events_lost 0')
    for (const line of metrics.split('\n').filter((text) => text !== '')) {
      t.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [\d.e+-]+)$/)
    }
    t.end()
  })

  t.test('traces', (t) => {
    const spans = collector.bodies.flatMap((body) => namesOf(JSON.parse(body)))
    t.ok(
      spans.some(({ name }) => name === 'call'),
      'a span for the call',
    )
    t.ok(
      spans.some(({ name }) => name === 'POST /v1/calls'),
      'a span for a request',
    )
    const health = spans.find(({ name }) => name === 'GET /v1/health')
    t.equal(health?.traceId, '0af7651916cd43dd8448eb211c80319c', "the client's trace goes on")
    t.end()
  })

  t.test('no report contains a secret or a phone number', (t) => {
    const told = {
      log: lines.join('\n'),
      traces: collector.bodies.join('\n'),
      metrics: during + metrics,
      errors: refusals.map(({ body }) => JSON.stringify(body)).join('\n'),
    }
    t.ok(lines.length > 20 && refusals.length >= 7 && collector.bodies.length > 0)
    const secrets: Readonly<Record<string, string>> = {
      'test key': keys.test,
      'live key': keys.live,
      'random part of the test key': keys.test.slice(13),
      password: PASSWORD,
      'stored secret': SECRET_VALUE,
      'operator token': OPS_TOKEN,
      'root key': ROOT_KEY,
      'owner password': String(parley.firstStart?.password),
    }
    const people: Readonly<Record<string, string>> = {
      'number called': NUMBER.slice(3),
      'own number': service.number.slice(3),
      'words spoken': SPOKEN,
      'e-mail': 'secret.person',
    }
    for (const [place, text] of Object.entries(told)) {
      for (const [what, secret] of Object.entries(secrets)) {
        t.notOk(text.includes(secret), `${place}: ${what} ${around(text, secret)}`)
      }
      t.notMatch(text, /svc_(test|live)_[0-9A-Za-z]{20}/, `${place}: nothing like a key`)
      t.notMatch(text, /whsec_/, `${place}: nothing like a signing secret`)
      if (place === 'errors') continue
      for (const [what, person] of Object.entries(people)) {
        t.notOk(text.includes(person), `${place}: ${what} ${around(text, person)}`)
      }
    }
    t.end()
  })

  async function metricsOf(): Promise<string> {
    const response = await fetch(`${parley.httpUrl}/v1/metrics`, {
      headers: { authorization: `Bearer ${OPS_TOKEN}` },
    })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
    return response.text()
  }
})

t.test('traceparent', (t) => {
  t.same(parseTraceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'), {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 1,
  })
  for (const bad of [null, '', '00-0-0-0', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, '01-x']) {
    t.equal(parseTraceparent(bad), null)
  }
  t.end()
})

/** Location of a match, for the title of a failure. */
function around(text: string, found: string): string {
  const at = text.indexOf(found)
  return at < 0 ? '' : `...${text.slice(Math.max(0, at - 200), at + 100)}...`
}

interface SeenSpan {
  readonly name: string
  readonly traceId: string
}

/** Returns the spans of an OTLP/JSON body. */
function namesOf(body: {
  resourceSpans?: readonly { scopeSpans: readonly { spans: readonly SeenSpan[] }[] }[]
}) {
  return (body.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}
