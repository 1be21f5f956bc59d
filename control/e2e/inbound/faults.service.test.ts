import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { levelDbfs, tone, toneLevel, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { openRtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { type Caller, call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { writeSdp } from '../../../fixtures/sip/sdp.js'
import { cseqOf, type SipMessage } from '../../../fixtures/sip/sip-message.js'
import { openUdp } from '../../../fixtures/sip/sip-transport.js'

/*
 * Calls to the whole service while messages are lost, delayed, malformed or forged, in virtual time.
 */

const service = await openService(t, { virtual: true })
t.jobs = 4

/** Options of a test that runs in parallel; each test needs its own object. */
const beside = () => ({ buffered: true, timeout: 150_000 })

const is200 = (message: SipMessage) => message.status === 200 && cseqOf(message).method === 'INVITE'

/** Asserts that the agent speaks and that the caller is heard. */
async function works(t: Pick<typeof import('tap').default, 'equal'>, caller: Caller, key: string) {
  const callId = await caller.callId()
  const loud = caller.rtp.loud().length
  const keys = service.of(callId, 'dtmf').length
  caller.rtp.press(key)
  await service.until(`the key ${key}`, () => service.of(callId, 'dtmf').length > keys)
  t.equal(service.of(callId, 'dtmf').at(-1)?.digit, key)
  await caller.until('sound', () => caller.rtp.loud().length > loud)
  return callId
}

async function hangUp(t: Pick<typeof import('tap').default, 'match'>, caller: Caller) {
  const callId = await caller.callId()
  await caller.hangUp()
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'caller_hangup' })
  return callId
}

async function callerChannel(callId: string): Promise<Int16Array> {
  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
  return wav.channels[0] ?? new Int16Array(0)
}

t.test('the first two 200s are lost: the third one starts the call', beside(), async (t) => {
  let lost = 0
  const caller = await call(t, service, {
    intercept: (message, direction) => {
      if (direction !== 'in' || !is200(message) || lost === 2) return 'pass'
      lost++
      return 'drop'
    },
  })
  await caller.answered()
  t.equal(lost, 2)
  const [, , third] = caller.peer.log.filter(({ message }) => is200(message))
  t.ok(
    caller.rtp.received.every(({ atMs }) => atMs > (third?.atMs ?? 0)),
    'no media before the ACK',
  )
  await caller.until('the greeting', () => caller.rtp.loud().length > 0)
  await hangUp(t, caller)
})

t.test(
  'the first ACK is lost: the 200 is retransmitted and the next ACK starts the call',
  beside(),
  async (t) => {
    let lost = 0
    const caller = await call(t, service, {
      intercept: (message, direction) => {
        if (direction !== 'out' || message.method !== 'ACK' || lost === 1) return 'pass'
        lost++
        return 'drop'
      },
    })
    await caller.answered()
    await caller.until('the greeting', () => caller.rtp.loud().length > 0)
    t.equal(lost, 1)
    // One more may have been in flight when the second ACK was sent.
    const of200 = caller.peer.log.filter(({ message }) => is200(message))
    t.ok(of200.length >= 2)
    t.ok(
      caller.rtp.received.every(({ atMs }) => atMs > (of200[1]?.atMs ?? 0)),
      'no media before the ACK',
    )
    await hangUp(t, caller)
  },
)

t.test('CANCEL while it rings, and CANCEL that crosses the 200', beside(), async (t) => {
  const finals: number[] = []
  // The agent's first sentence is synthesized between 180 and 200.
  for (const [provisional, afterMs] of [
    [null, 0],
    [100, 0],
    [180, 0],
    [180, 10],
    [180, 30],
  ] as const) {
    const caller = await call(t, service)
    if (provisional !== null) await caller.peer.waitFor((message) => message.status === provisional)
    if (afterMs > 0) await new Promise<void>((resolve) => caller.peer.after(afterMs, resolve))
    caller.dialog.cancel()
    const status = await caller.dialog.final()
    finals.push(status)
    const cancelled = await caller.peer.waitFor(
      (message) => message.status !== null && cseqOf(message).method === 'CANCEL',
    )
    t.equal(cancelled.status, 200, 'the CANCEL is answered')
    const callId = await caller.callId()
    if (status === 200) await caller.hangUp()
    const ended = await service.ended(callId)
    t.match(ended, { endedReason: 'caller_hangup' })
    t.equal(service.of(callId, 'ended').length, 1)
    if (status === 200) continue
    t.equal(status, 487)
    t.match(ended, { disposition: 'no_answer', answeredAt: null, billedPaise: 0 })
    t.equal(caller.rtp.received.length, 0)
  }
  t.equal(finals[0], 487, 'a CANCEL before anything else ends the call unanswered')
})

t.test('hold stops the media in both directions, resume restores it', beside(), async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  await caller.until('the greeting', () => caller.rtp.loud().length > 10)
  const callId = await caller.callId()
  const held = () => service.of(callId, 'held').map((event) => event.on)
  const sdp = (direction: 'sendonly' | 'inactive' | 'sendrecv', version: number) =>
    writeSdp(
      {
        address: caller.rtp.address,
        port: caller.rtp.port,
        codecs: ['PCMA'],
        dtmfPayloadType: 101,
        direction,
      },
      version,
    )
  for (const [round, direction, answer] of [
    [0, 'sendonly', 'recvonly'],
    [1, 'inactive', 'inactive'],
  ] as const) {
    caller.dialog.reinvite(sdp(direction, 2 + 2 * round))
    t.equal(await caller.dialog.final(), 200)
    t.equal(caller.remote.direction, answer)
    await service.until('held', () => held().length === 2 * round + 1)
    await caller.rtp.say(new Int16Array(8_000)).done // a second
    caller.dialog.reinvite(sdp('sendrecv', 3 + 2 * round))
    t.equal(await caller.dialog.final(), 200)
    t.equal(caller.remote.direction, 'sendrecv')
    await service.until('resumed', () => held().length === 2 * round + 2)
    const again = caller.rtp.received.length
    await caller.until('media again', () => caller.rtp.received.length > again + 10)
  }
  t.strictSame(held(), [true, false, true, false])
  // In the wire's own time: two pauses as long as the holds, except for delays of the test phone.
  const { received } = caller.rtp
  const pauses = received.flatMap(({ timestamp }, i) => {
    const samples = (timestamp - (received[i - 1]?.timestamp ?? timestamp)) | 0
    return samples > 4_000 ? [samples / 8] : []
  })
  t.equal(pauses.length, 2, `no packet while held: nothing for ${pauses.join(' and ')} ms`)
  t.ok(
    pauses.every((ms) => ms >= 700),
    'from the beginning of the hold to its end',
  )
  t.equal(new Set(caller.rtp.received.map(({ ssrc }) => ssrc)).size, 1, 'one stream all along')
  await works(t, caller, '5')
  await hangUp(t, caller)
})

t.test('rejections leave no call behind', beside(), async (t) => {
  const foreign = await call(t, service, { to: '+918000000001' })
  t.equal(await foreign.dialog.final(), 404)
  const g729 = await call(t, service, {
    sdp: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 18\r\n',
  })
  t.equal(await g729.dialog.final(), 488)
  const nonsense = await call(t, service, { transport: 'tcp', sdp: 'hello' })
  t.equal(await nonsense.dialog.final(), 400)
  const calls = (await service.send('GET', '/v1/calls?limit=100')).body.data as Json[]
  const rows = calls.filter(({ from }) => [foreign.from, g729.from, nonsense.from].includes(String(from)))
  t.strictSame(rows, [])
})

t.test('garbage on the SIP ports and on the media port does not reach the call', beside(), async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  await caller.until('the greeting', () => caller.rtp.loud().length > 0)
  const sip = service.target('udp')
  const { remote } = caller
  const garbage = [
    '',
    '\r\n\r\n',
    'hello',
    '\u0000'.repeat(1_400),
    'INVITE sip:a SIP/2.0\r\n\r\n',
    `BYE sip:x@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:1;branch=z9hG4bKx\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:c@d>;tag=2\r\nCall-ID: ${caller.dialog.callId}\r\nCSeq: 9 BYE\r\nContent-Length: 0\r\n\r\n`,
    'INVITE sip:x@y SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKq\r\nContent-Length: 99999999\r\n\r\n',
    'SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKq\r\n\r\n',
  ]
  const stranger = await openUdp('127.0.0.1', 0, () => {})
  t.teardown(() => stranger.close())
  const rtpStranger = await openRtpPeer({ codec: 'PCMA', clock: service.clock }, service.network)
  t.teardown(() => rtpStranger.close())
  for (const text of garbage) {
    stranger.send(text, sip)
    rtpStranger.sendRaw(Buffer.from(text), remote)
    // Sent from the call's own sockets as well.
    caller.peer.sendRaw(text, sip)
  }
  for (const bytes of [
    Uint8Array.of(),
    Uint8Array.of(0x80),
    Uint8Array.of(0x80, 8, 0, 1),
    new Uint8Array(12),
    new Uint8Array(12).fill(0xff),
    // A padding longer than the packet, sixteen missing CSRCs, and an extension past the end.
    Uint8Array.from({ length: 20 }, (_, i) => (i === 0 ? 0xa0 : i === 1 ? 8 : 200)),
    Uint8Array.from({ length: 20 }, (_, i) => (i === 0 ? 0x8f : i === 1 ? 8 : 0)),
    Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0x90 : i === 1 ? 8 : 0xff)),
    // telephone-event payloads that are too short or have an event that is no digit.
    Uint8Array.from({ length: 13 }, (_, i) => (i === 0 ? 0x80 : i === 1 ? 101 : 1)),
    Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0x80 : i === 1 ? 101 : 99)),
  ]) {
    caller.rtp.sendRaw(bytes, remote)
  }
  for (const text of garbage) {
    const socket = connect(service.target('tcp').port, '127.0.0.1')
    socket.on('error', () => {})
    t.teardown(async () => {
      socket.destroy()
    })
    await once(socket, 'connect')
    socket.write(text)
  }
  const callId = await works(t, caller, '9')
  t.equal(service.of(callId, 'dtmf').length, 1, 'no key was made up')
  t.equal(service.of(callId, 'ended').length, 0)
  await hangUp(t, caller)
})

t.test('media from another socket is ignored, not recorded and not answered', beside(), async (t) => {
  const caller = await call(t, service, { rtp: { background: tone(440, 1_000) } })
  await caller.answered()
  await caller.until('media', () => caller.rtp.received.length > 10)
  const intruder = await openRtpPeer(
    { codec: 'PCMA', clock: service.clock, background: tone(1_000, 1_000, 8_000, 0.9) },
    service.network,
  )
  t.teardown(() => intruder.close())
  intruder.start(caller.remote)
  const callId = await caller.callId()
  intruder.press('3')
  await caller.until('two seconds', () => intruder.sent.length >= 100 && caller.rtp.received.length > 110)
  intruder.pause()
  t.equal(intruder.received.length, 0)
  t.equal(service.of(callId, 'dtmf').length, 0, 'its keys are not ours')
  // The agent keeps listening during an endless tone. The caller's actions still count.
  caller.rtp.press('1')
  await service.until('the key', () => service.of(callId, 'dtmf').length > 0)
  t.equal(service.of(callId, 'dtmf')[0]?.digit, '1')
  await hangUp(t, caller)
  const heard = (await callerChannel(callId)).subarray(4_000, 16_000)
  t.ok(usualToneLevel(heard, 440) > 0.2)
  t.ok(toneLevel(heard, 1_000) < 0.003)
  const [ended] = service.of(callId, 'ended')
  t.ok((ended?.rtp?.refused ?? 0) >= 95, 'refused and counted')
})

t.test('the far end moves its media with a re-INVITE', beside(), async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  await caller.until('media', () => caller.rtp.received.length > 10)
  const other = await openRtpPeer(
    { codec: 'PCMU', clock: service.clock, onPacket: () => queueMicrotask(() => caller.peer.wake()) },
    service.network,
  )
  t.teardown(() => other.close())
  caller.dialog.reinvite(offerOf(other))
  t.equal(await caller.dialog.final(), 200)
  caller.rtp.pause()
  other.start(caller.remote)
  await caller.until('media at the new place', () => other.received.length > 20)
  t.ok(other.received.every(({ payloadType }) => payloadType === 0))
  other.press('8')
  const callId = await caller.callId()
  await service.until('the key', () => service.of(callId, 'dtmf').length === 1)
  t.strictSame(service.of(callId, 'held'), [])
  await hangUp(t, caller)
  t.ok(levelDbfs(await callerChannel(callId)) < -60, 'nobody spoke')
})

t.test('DTMF on a bad network: each digit once, in order', beside(), async (t) => {
  const caller = await call(t, service, {
    rtp: { impairments: { seed: 9, loss: 0.1, jitterMs: 15, duplicates: 0.1 } },
  })
  await caller.answered()
  await caller.until('media', () => caller.rtp.received.length > 10)
  const callId = await caller.callId()
  const digits = () => service.of(callId, 'dtmf').map((event) => event.digit)
  // Repeated presses of one digit differ only in their timestamps.
  for (const keys of ['0123', '4556', '789*', '#']) {
    caller.rtp.press(keys)
    const so = digits().length + keys.length
    await service.until(`${so} keys`, () => digits().length >= so)
  }
  await caller.rtp.say(new Int16Array(2_000)).done
  t.equal(digits().join(''), '01234556789*#')
  await hangUp(t, caller)
  t.ok((service.of(callId, 'ended')[0]?.rtp?.lost ?? 0) > 0, 'packets were really lost')
})

t.test(
  'the TCP connection of a call breaks: the call continues, and our BYE arrives',
  beside(),
  async (t) => {
    const caller = await call(t, service, { transport: 'tcp' })
    await caller.answered()
    await caller.until('the greeting', () => caller.rtp.loud().length > 0)
    caller.peer.transport.drop()
    const callId = await works(t, caller, '2')
    await service.api('POST', `/v1/calls/${callId}/hangup`)
    await caller.dialog.ended()
    t.equal(caller.dialog.endedBy, 'remote', 'over a new connection to the Contact')
    t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'api_hangup' })
  },
)
