import { createHash } from 'node:crypto'
import t from 'tap'
import { call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'

/*
 * Calls to the whole service from a test phone that shares no code with the product, in virtual time.
 */

const service = await openService(t, { virtual: true })

t.test(
  'digits arrive in order, each once; other speech is not understood, and the agent says so',
  async (t) => {
    const caller = await call(t, service, { transport: 'tcp', rtp: { codec: 'PCMU', dtmfPayloadType: 96 } })
    await caller.answered()
    t.match(caller.remote, { codecs: ['PCMU'], dtmfPayloadType: 96 })
    const callId = await caller.callId()
    const turns = () => service.of(callId, 'turn').map((event) => event.turn)
    await service.until('the greeting', () => turns().length === 1)
    caller.rtp.say(readClip(findClip('book-tomorrow')))
    await service.until('what it says to speech', () => turns().length === 2)
    t.match(turns()[1], { speaker: 'agent', text: /cannot understand speech.*keys of your phone/i })

    caller.rtp.press('1442#')
    await service.until('the answer to the keys', () => turns().some(({ text }) => text.includes('1 4 4 2')))
    t.equal(
      service
        .of(callId, 'dtmf')
        .map((event) => event.digit)
        .join(''),
      '1442#',
    )
    for (const { durationMs } of service.of(callId, 'dtmf')) {
      t.ok(durationMs >= 80 && durationMs <= 120, `a key of 100 ms lasts ${durationMs} ms`)
    }
    await caller.hangUp()
    await service.ended(callId)
    const { segments } = await service.api('GET', `/v1/calls/${callId}/transcript`)
    const lines = segments as Json[]
    t.strictSame(
      lines.filter(({ role }) => role === 'system').map(({ text }) => text),
      [...'1442#'].map((digit) => `The caller pressed ${digit}.`),
    )
    t.match(
      lines.filter(({ role }) => role === 'caller'),
      [{ text: /1442/ }],
      'the caller said the number with the keys, and nothing else was made up',
    )
  },
)

t.test('an operator hangs up: the caller gets a BYE', async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  const callId = await caller.callId()
  await caller.until('the greeting', () => caller.rtp.loud().length > 0)
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  await caller.dialog.ended()
  t.equal(caller.dialog.endedBy, 'remote')
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'api_hangup' })
  const before = caller.rtp.received.length
  await service.api('POST', `/v1/calls/${callId}/hangup`)
  t.equal(service.of(callId, 'ended').length, 1, 'a second hang-up changes nothing')
  t.equal(caller.rtp.received.length, before, 'no packet after the end')
})

t.test('a late offer: we offer, the answer comes in the ACK', async (t) => {
  const caller = await call(t, service, { sdp: null, autoAck: false, rtp: { codec: 'PCMU' } })
  await caller.dialog.final()
  t.strictSame(caller.remote.codecs, ['PCMA', 'PCMU'])
  caller.dialog.ackSdp = offerOf(caller.rtp)
  caller.dialog.ack()
  caller.rtp.start(caller.remote)
  await caller.until('the greeting in PCMU', () => caller.rtp.loud().length > 20)
  t.ok(caller.rtp.received.every(({ payloadType }) => payloadType === 0))
  const callId = await caller.callId()
  caller.rtp.press('7')
  await service.until('the key', () => service.of(callId, 'dtmf').length === 1)
  await caller.hangUp()
  t.match(await service.ended(callId), { disposition: 'answered' })
})

t.test('the API serves the recording that the media thread finished', async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  const callId = await caller.callId()
  await caller.until('half a second', () => caller.rtp.received.length >= 25)
  await caller.hangUp()
  await service.ended(callId)
  const [ended] = service.of(callId, 'ended')
  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const handed = new Uint8Array(await (await fetch(String(url))).arrayBuffer())
  t.equal(createHash('sha256').update(handed).digest('hex'), ended?.recording?.sha256)
})
