import { createHash } from 'node:crypto'
import t from 'tap'
import { readWav } from '../../../fixtures/audio/wav.js'
import { type Json, openService } from '../../../fixtures/service/service.js'

/*
 * Outbound calls of the whole service: REST requests, real SIP and RTP to the simulated persons, REST
 * responses.
 */

const PERSON = '+9190000000'

t.test('each simulated person leads to the expected outcome', { timeout: 250_000 }, async (t) => {
  const service = await openService(t, { virtual: true, mediaTimeoutMs: 2_000 })
  const impatient = await service.publishAgent({
    name: 'Impatient',
    callSettings: {
      maxCallSeconds: 30,
      nudges: {
        enabled: true,
        hangupAfter: true,
        steps: [
          { afterSeconds: 1, line: { text: 'Are you there?' } },
          { afterSeconds: 1, line: { text: 'Hello?' } },
        ],
      },
    },
  })
  const expectations: readonly [string, string, Json][] = [
    ['no one answers', '03', { disposition: 'no_answer', endedReason: 'no_answer', answeredAt: null }],
    ['talks for ever', '09', { disposition: 'answered', endedReason: 'max_duration' }],
    ['busy', '02', { disposition: 'busy', endedReason: 'busy', answeredAt: null, billedPaise: 0 }],
    ['carrier error', '05', { disposition: 'failed', endedReason: 'carrier_error', billedPaise: 0 }],
    ['silent', '11', { disposition: 'answered', endedReason: 'silence' }],
    ['media dies', '06', { endedReason: 'carrier_error' }],
    ['presses digits', '12', { disposition: 'answered' }],
    ['polite', '55', { disposition: 'answered', answeredBy: 'human' }],
    ['voicemail', '04', { disposition: 'voicemail', endedReason: 'voicemail', answeredBy: 'voicemail' }],
    ['screening', '13', { disposition: 'answered', answeredBy: 'screening' }],
  ]
  const check = async ([name, suffix, expected]: (typeof expectations)[number]) => {
    const callId = await service.call(`${PERSON}${suffix}`, { agentId: impatient })
    const call = await service.ended(callId)
    t.match(call, { status: 'ended', direction: 'outbound', ...expected }, name)
    t.equal(service.of(callId, 'ended').length, 1, `${name}: ended once`)
    t.strictSame(
      service.events.filter((event) => event.callId === callId).map((event) => event.seq),
      service.events.filter((event) => event.callId === callId).map((_event, index) => index + 1),
      `${name}: seq without a gap`,
    )
    return callId
  }
  // The test environment allows five calls at a time. The long calls run beside the others.
  const [long, short] = [expectations.slice(0, 2), expectations.slice(2)]
  const longs = long.map(check)
  let digits = ''
  for (const some of [short.slice(0, 3), short.slice(3, 6), short.slice(6)]) {
    const ids = await Promise.all(some.map(check))
    for (const id of ids)
      digits += service
        .of(id, 'dtmf')
        .map((event) => event.digit)
        .join('')
  }
  await Promise.all(longs)
  t.equal(digits, '142#', 'digits in order, each once')
})

t.test('one Idempotency-Key gives one call', async (t) => {
  const service = await openService(t, { virtual: true })
  const body = { to: `${PERSON}02`, numberId: service.numberId }
  const headers = { 'idempotency-key': 'once-only' }
  const first = await service.send('POST', '/v1/calls', body, headers)
  const again = await service.send('POST', '/v1/calls', body, headers)
  t.equal(first.status, 201)
  t.equal(again.status, 201)
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  t.strictSame(again.body, first.body)
  await service.ended(String((first.body.data as Json).id))
  const list = await service.send('GET', '/v1/calls')
  t.match(list.body, { meta: { pagination: { total: 1 } } })
  t.equal(service.events.filter((event) => event.type === 'dialing').length, 1)
})

t.test(
  'an interrupted agent: list, transcript, recording and events agree',
  { timeout: 150_000 },
  async (t) => {
    const service = await openService(t, {
      virtual: true,
      agent: {
        callSettings: {
          openingLine: {
            text: 'Hello, this is Smile Dental Clinic. We have moved your appointment to ten in the morning, and I would like to tell you how to prepare for it.',
          },
        },
      },
    })
    const callId = await service.call(`${PERSON}10`)
    const call = await service.ended(callId)
    t.match(call, { disposition: 'answered', hasRecording: true, hasTranscript: true })

    const turns = service.of(callId, 'turn').map((event) => event.turn)
    const cut = turns.filter((turn) => turn.cutAtMs !== undefined)
    t.ok(cut.length >= 2, 'interrupted more than once')
    for (const turn of cut) {
      t.ok(turn.heardText.length < turn.text.length, 'not all of it was heard')
      t.ok(turn.text.startsWith(turn.heardText), 'what was heard is the beginning')
    }
    const transcript = await service.api('GET', `/v1/calls/${callId}/transcript`)
    const segments = transcript.segments as Json[]
    t.strictSame(
      segments
        .filter((segment) => segment.role === 'agent' || segment.role === 'caller')
        .map(({ role, text, interrupted }) => ({ role, text, interrupted })),
      turns.map((turn) => ({
        role: turn.speaker,
        text: turn.heardText,
        interrupted: turn.cutAtMs !== undefined,
      })),
    )

    const recording = await service.api('GET', `/v1/calls/${callId}/recording`)
    const bytes = new Uint8Array(await (await fetch(String(recording.url))).arrayBuffer())
    t.equal(bytes.length, recording.bytes)
    const [ended] = service.of(callId, 'ended')
    t.equal(createHash('sha256').update(bytes).digest('hex'), ended?.recording?.sha256)
    const wav = readWav(bytes)
    t.equal(wav.channels.length, 2)
    t.equal(Math.round(((wav.channels[0]?.length ?? 0) / wav.rate) * 1000), ended?.recording?.durationMs)

    const events = (await service.send('GET', '/v1/events')).body.data as Json[]
    t.strictSame(
      events
        .filter((event) => event.subjectId === callId)
        .map((event) => event.type)
        .sort(),
      ['call.answered', 'call.completed', 'call.initiated'],
    )
  },
)

t.test('an operator hangs up; afterwards there is nothing to hang up', async (t) => {
  const service = await openService(t, { virtual: true })
  const callId = await service.call(`${PERSON}11`)
  await service.until('the answer', () => service.of(callId, 'answered').length > 0)
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'api_hangup' })
})

t.test('a simulated person places a call', { timeout: 150_000 }, async (t) => {
  const service = await openService(t, { virtual: true })
  await service.api('POST', '/v1/sandbox/inbound-calls', {
    numberId: service.numberId,
    from: '+919812345678',
    persona: 'polite',
  })
  await service.until('an inbound call', () => service.events.some((event) => event.type === 'answered'))
  const callId = service.events[0]?.callId ?? ''
  const call = await service.ended(callId)
  t.match(call, { direction: 'inbound', from: '+919812345678', to: service.number, disposition: 'answered' })
  const [first] = service.of(callId, 'turn')
  t.match(first?.turn, { speaker: 'agent' }, 'the agent greets first')
})

t.test('a live key places no call', async (t) => {
  const service = await openService(t, { virtual: true })
  const answer = await service.send(
    'POST',
    '/v1/calls',
    { to: '+919812345678', numberId: service.numberId },
    { authorization: `Bearer ${service.keys.live}` },
  )
  t.match(answer, { status: 422, body: { error: { code: 'environment_mismatch' } } })
  t.equal(service.events.length, 0)
})
