import t from 'tap'
import { tone, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { openBot } from '../../../fixtures/bots/bot.js'
import { call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'

/*
 * A number routed to a customer's own bot: a call through the whole service to a WebSocket and back.
 */

const service = await openService(t, { env: { PARLEY_ALLOW_PRIVATE_URLS: 'true' } })

t.test('a caller talks to an echo bot', async (t) => {
  const bot = await openBot(t, {
    onMessage: (call, { json }) => {
      if (json?.event === 'media')
        call.send({ event: 'media', media: { payload: (json.media as Json).payload } })
    },
  })
  const number = await service.api('PATCH', `/v1/numbers/${service.numberId}`, {
    routingMode: 'byo_ws',
    mediaEndpoint: { type: 'static', url: `${bot.url}/talk?line=1`, format: 'mulaw', sampleRate: 8000 },
  })
  t.match(number, { routingMode: 'byo_ws', agentId: service.agentId, mediaEndpoint: { format: 'mulaw' } })

  const caller = await call(t, service, { rtp: { codec: 'PCMU', background: tone(440, 1000) } })
  await caller.answered()
  const there = await bot.call()
  await caller.until('two seconds of echo', () => caller.rtp.loud().length >= 100)
  t.equal(there.path, '/talk?line=1')
  t.match(there.messagesOfType('start')[0]?.json, {
    start: { from: caller.from, to: service.number, direction: 'inbound', tracks: ['inbound'] },
  })
  t.ok(usualToneLevel(caller.rtp.heard().pcm.subarray(-8_000), 440) > 0.2, 'as it was said')

  const callId = await caller.callId()
  await caller.hangUp()
  const ended = await service.ended(callId)
  t.match(ended, {
    routingMode: 'byo_ws',
    agentId: null,
    disposition: 'answered',
    endedReason: 'caller_hangup',
    hasRecording: true,
    hasTranscript: false,
    bot: { errors: 0, marks: 0, droppedInMs: 0, droppedOutMs: 0, closeCode: null, underruns: Number },
  })
  await there.until('the end', () => there.closed !== null)
  t.equal(there.closed?.code, 1000)
  t.match(there.messagesOfType('stop')[0]?.json, { stop: { reason: 'caller_hangup' } })
})

t.test('DTMF digits have the duration that the bot requests', async (t) => {
  const bot = await openBot(t)
  await service.api('PATCH', `/v1/numbers/${service.numberId}`, {
    routingMode: 'byo_ws',
    mediaEndpoint: { type: 'static', url: bot.url },
  })
  const caller = await call(t, service, { rtp: { codec: 'PCMU' } })
  await caller.answered()
  const there = await bot.call()
  there.send({ event: 'dtmf', dtmf: { digits: '1', durationMs: 9 } })
  await there.until('a refusal', () => there.messagesOfType('error').length === 1)
  t.match(there.messagesOfType('error')[0]?.json, {
    error: { code: 'bad_frame', message: /durationMs .* 40 to 1000/ },
  })
  there.send({ event: 'dtmf', dtmf: { digits: '79', durationMs: 60, gapMs: 240 } })
  const ends = () =>
    caller.rtp.received
      .filter(({ payloadType, payload }) => payloadType === 101 && ((payload[1] ?? 0) & 0x80) !== 0)
      .map(({ payload, sequence }) => [payload[0], ((payload[2] ?? 0) << 8) | (payload[3] ?? 0), sequence])
  await caller.until('both', () => ends().some(([digit]) => digit === 9))
  const [seven, ...more] = ends()
  const nine = more.find(([digit]) => digit === 9)
  t.match(
    [seven, nine],
    [
      [7, 480],
      [9, 480],
    ],
    '60 ms each',
  )
  // A packet leaves every 20 ms, even when a slow host skips some between two of them.
  t.equal(((nine?.[2] ?? 0) - (seven?.[2] ?? 0)) & 0xffff, 300 / 20, 'and 240 ms between them')
  await caller.hangUp()
})

t.test('a bot hangs up through the API of its carrier, with an API key as the token', async (t) => {
  const bot = await openBot(t)
  const number = `/v1/numbers/${service.numberId}`
  const uuid = (text: unknown) => String(text).replace(/^(CA|v3:)/, '')
  const basic = (key: string) => ({
    authorization: `Basic ${Buffer.from(`AC1:${key}`).toString('base64')}`,
  })
  const hangUp = (method: string, path: string, key: string, body?: string) =>
    fetch(`${service.parley.httpUrl}${path}`, {
      method,
      headers: {
        ...(path.startsWith('/v2') ? { authorization: `Bearer ${key}` } : basic(key)),
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body === undefined ? {} : { body }),
    })
  const vendors = [
    {
      type: 'twilio',
      id: (start: Json) => start.callSid,
      request: (id: unknown, key: string) =>
        hangUp('POST', `/2010-04-01/Accounts/AC1/Calls/${id}.json`, key, 'Status=completed'),
      status: 200,
      problem: { code: 20003, message: String, more_info: String, status: 401 },
    },
    {
      type: 'plivo',
      id: (start: Json) => start.callId,
      request: (id: unknown, key: string) => hangUp('DELETE', `/v1/Account/MA1/Call/${id}/`, key),
      status: 204,
      problem: { api_id: String, error: String },
    },
    {
      type: 'telnyx',
      id: (start: Json) => start.call_control_id,
      request: (id: unknown, key: string) =>
        hangUp('POST', `/v2/calls/${encodeURIComponent(String(id))}/actions/hangup`, key),
      status: 200,
      problem: { errors: [{ code: '10009', title: String, detail: String }] },
    },
  ]
  for (const { type, id, request, status, problem } of vendors) {
    await service.api('PATCH', number, { routingMode: 'byo_ws', mediaEndpoint: { type, url: bot.url } })
    const index = bot.calls.length
    const caller = await call(t, service)
    await caller.answered()
    const there = await bot.call(index)
    await there.until('the start', () => there.messagesOfType('start').length === 1)
    const name = id(there.messagesOfType('start')[0]?.json.start as Json)
    t.match(uuid(name).replaceAll('-', ''), /^[0-9a-f]{32}$/)
    const refused = await request(name, 'svc_test_unknown')
    t.equal(refused.status, 401, type)
    t.match(await refused.json(), problem, 'in the shape that its client reads')
    t.equal((await request(String(name).replace(/.$/, 'x'), service.keys.test)).status, 404)
    t.equal((await request(name, service.keys.live)).status, 404, 'of the other environment')
    t.equal((await request(name, service.keys.test)).status, status)
    await caller.dialog.ended()
    t.match(await service.ended(await caller.callId()), { endedReason: 'api_hangup' })
    t.equal((await request(name, service.keys.test)).status, status, 'again, and nothing happens')
  }
  const other = await hangUp(
    'POST',
    '/2010-04-01/Accounts/A/Calls/CA1.json',
    service.keys.test,
    'Status=busy',
  )
  t.equal(other.status, 400)
})
