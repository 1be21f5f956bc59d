import t from 'tap'
import { openBot } from '../fixtures/bot.js'
import { call } from '../fixtures/caller.js'
import { type Json, openService } from '../fixtures/service.js'
import { tone, toneLevel } from '../fixtures/tones.js'

/* A number routed to a customer's own bot: a call through the whole service to a WebSocket and back. */

const service = await openService(t, { env: { PARLEY_ALLOW_PRIVATE_URLS: 'true' } })

t.test('a caller talks to a bot that says everything back', async (t) => {
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
  t.match(there.of('start')[0]?.json, {
    start: { from: caller.from, to: service.number, direction: 'inbound', tracks: ['inbound'] },
  })
  t.ok(toneLevel(caller.rtp.heard().pcm.subarray(-8_000), 440) > 0.2, 'the tone comes back')

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
  })
  await there.until('the end', () => there.closed !== null)
  t.equal(there.closed?.code, 1000)
  t.match(there.of('stop')[0]?.json, { stop: { reason: 'caller_hangup' } })
})
