import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { DtlsPeer } from '../../fixtures/rtp/dtls-peer.js'
import { MemoryNetwork } from '../../fixtures/rtp/memory-network.js'
import { silentLog } from '../base/log.js'
import { createDtlsIdentity } from './dtls/identity.js'
import { openRtpEndpoint } from './endpoint.js'
import { CONSENT_MS, createIceCredentials } from './ice/lite-agent.js'
import { STUN } from './ice/stun.js'
import { RtpPorts } from './port.js'
import type { RtpRemote } from './remote-description.js'

/* A leg whose peer proves its addresses by ICE and makes its SRTP keys by DTLS, in memory. */

const HOME = 4000
const ROAMED = 5000
const MEDIA_TIMEOUT_MS = 8000
const IDENTITY = createDtlsIdentity(0)
/** A-law of a loud and constant sample, which no silence is. */
const VOICE = Buffer.alloc(160, 0x80)

async function open(t: Test) {
  const clock = new VirtualClock({ nowMs: 1000 })
  const network = new MemoryNetwork(clock)
  const peer = new DtlsPeer(network, clock)
  await peer.bind(HOME)
  await peer.bind(ROAMED)
  const timeouts: number[] = []
  let failures = 0
  const left: number[] = []
  const leg = await openRtpEndpoint({
    id: 'leg',
    address: '192.0.2.1',
    ports: new RtpPorts(clock, network.bind),
    portRange: null,
    rate: 8000,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: (ms, again) => {
      if (!again) timeouts.push(ms)
    },
    mediaTimeoutMs: MEDIA_TIMEOUT_MS,
    onFailed: () => failures++,
    onLeft: () => left.push(clock.now()),
    identity: IDENTITY,
  })
  t.teardown(() => leg.close('hangup'))
  peer.to = leg
  leg.start(clock.now(), { onFrame: () => {}, onDigit: () => {} })
  let at = 0
  const rig = {
    clock,
    peer,
    leg,
    timeouts,
    failures: () => failures,
    left,
    remote: (changes: Partial<RtpRemote> = {}) =>
      leg.setRemote({
        ...{ address: '0.0.0.0', port: 9, codec: 'PCMA', payloadType: 8, dtmfPayloadType: null },
        ...{ send: true, receive: true, rtcp: { mux: true, address: '', port: 0 } },
        dtls: peer.remote,
        ...changes,
      }),
    /** One frame, in which the leg sends a packet. Returns whether the peer is heard in it. */
    tick(): boolean {
      const heard = new Int16Array(160)
      const hears = leg.pull(heard, at)
      leg.push({ pcm: new Int16Array(160).fill(8000), rate: 8000, at })
      leg.flush(at)
      at += 160
      clock.advance(20)
      return hears && heard.some((sample) => Math.abs(sample) > 1000)
    },
    /** Returns whether the peer is heard within thirty frames in which it speaks. */
    hears(port: number, options: { readonly plain?: boolean } = {}): boolean {
      let heard = false
      for (let i = 0; i < 30; i++) {
        peer.speak(port, VOICE, options)
        heard = rig.tick() || heard
      }
      return heard
    },
    /** Returns how many packets arrive at the peer in ten frames. */
    says(): number {
      const before = peer.audio.length
      for (let i = 0; i < 10; i++) rig.tick()
      return peer.audio.length - before
    },
    /** Lets time pass in which only the leg speaks. */
    wait(ms: number): void {
      for (let i = 0; i < ms / 20; i++) rig.tick()
    },
    connect(): void {
      rig.remote()
      peer.check(HOME)
      peer.handshake(HOME)
      rig.tick()
    },
  }
  return rig
}

t.test('media flows after the checks and the handshake, and not before', async (t) => {
  const { peer, remote, hears, says } = await open(t)
  remote()
  says()
  t.equal(peer.datagrams.length, 0, 'nothing goes to the address in the SDP')
  for (const record of peer.dtls.records(peer.dtls.hello())) peer.send(HOME, record)
  t.equal(peer.datagrams.length, 0, 'nor to an address that was not checked')
  peer.check(HOME, { use: false })
  t.same(peer.answers, [STUN.success])
  t.notOk(hears(HOME, { plain: true }), 'RTP without keys is refused')
  t.equal(peer.datagrams.length, 1)

  const fresh = await open(t)
  fresh.remote()
  fresh.peer.check(HOME)
  fresh.says()
  t.equal(fresh.peer.datagrams.length, 1, 'nothing before the handshake but the answer')
  fresh.peer.handshake(HOME)
  t.equal(fresh.says(), 10)
  t.ok(fresh.hears(HOME))
  fresh.says()
  t.notOk(fresh.hears(HOME, { plain: true }), 'RTP that is not encrypted stays refused')
  t.ok(fresh.leg.stats().authFailures > 0)
  fresh.wait(8000)
  t.ok(fresh.peer.rtcp > 0, 'RTCP is multiplexed')
})

t.test('a stranger without our password is nobody', async (t) => {
  const { peer, leg, connect, hears, says } = await open(t)
  connect()
  const { refused } = leg.stats()
  peer.check(ROAMED, { ice: { ...peer.ice, password: createIceCredentials().password } })
  peer.check(ROAMED, { ice: { ...peer.ice, ufrag: 'wrong' } })
  t.same(peer.answers, [STUN.success], 'no answer')
  t.notOk(hears(ROAMED), 'copied packets from an address that was not checked are refused')
  t.equal(leg.stats().refused - refused, 32)
  t.equal(says(), 10)
  t.ok(peer.datagrams.every(({ port }) => port === HOME))
})

t.test('media follows the address that the peer selects', async (t) => {
  const { peer, connect, hears, says } = await open(t)
  connect()
  peer.check(ROAMED, { use: false })
  const before = peer.datagrams.length
  says()
  t.ok(
    peer.datagrams.slice(before).every(({ port }) => port === HOME),
    'a check alone selects nothing',
  )
  peer.check(ROAMED)
  says()
  t.ok(peer.datagrams.slice(before + 12).every(({ port }) => port === ROAMED))
  t.ok(hears(ROAMED))
  t.ok(hears(HOME), 'both addresses are the peer')
})

t.test('media stops without consent, and goes on with it', async (t) => {
  const { peer, timeouts, connect, hears, says, wait } = await open(t)
  connect()
  wait(CONSENT_MS - 1000)
  t.equal(says(), 10)
  wait(1000)
  t.equal(says(), 0, 'nothing is sent')
  t.notOk(hears(HOME), 'and nothing taken')
  t.equal(timeouts.length, 1)
  peer.check(HOME)
  says()
  t.equal(says(), 10)
  t.ok(hears(HOME))
})

t.test(
  'a restart of ICE keeps the association, and the old address until a new one is selected',
  async (t) => {
    const { peer, connect, remote, hears, says } = await open(t)
    connect()
    const old = peer.ice
    peer.ice = createIceCredentials()
    remote()
    t.equal(says(), 10, 'to the old address')
    peer.check(HOME, { ice: old })
    t.ok(hears(HOME))
    peer.check(ROAMED)
    const before = peer.datagrams.length
    says()
    t.ok(peer.datagrams.slice(before).every(({ port }) => port === ROAMED))
    t.ok(hears(ROAMED))
    const answers = peer.answers.length
    peer.check(HOME, { ice: old })
    t.equal(peer.answers.length, answers, 'the old credentials are worth nothing now')
    remote()
    t.equal(says(), 10, 'the same description again changes nothing')
  },
)

t.test('a peer that says goodbye, or is another one than the SDP named, ends media at once', async (t) => {
  const gone = await open(t)
  gone.connect()
  t.equal(gone.says(), 10)
  gone.peer.send(HOME, gone.peer.dtls.record(21, Buffer.from([1, 0]), 1))
  t.equal(gone.says(), 0)
  t.notOk(gone.hears(HOME))
  t.equal(gone.left.length, 1)
  t.equal(gone.timeouts.length, 0)
  t.equal(gone.failures(), 0)

  const other = await open(t)
  other.remote({ dtls: { ...other.peer.remote, fingerprint: createDtlsIdentity(0).fingerprint } })
  other.peer.check(HOME)
  other.peer.handshake(HOME)
  t.ok(other.peer.dtls.received.includes(-142), 'bad_certificate')
  t.equal(other.says(), 0)
  t.equal(other.failures(), 1, 'without waiting for a silence')
  t.equal(other.timeouts.length, 0)
})

t.test('a peer that never shakes hands ends by time', async (t) => {
  const { peer, timeouts, remote, wait } = await open(t)
  remote()
  peer.check(HOME)
  wait(MEDIA_TIMEOUT_MS + 100)
  t.equal(timeouts.length, 1)
})

t.test('the end of the leg tells the peer', async (t) => {
  const { peer, leg, connect, clock, left } = await open(t)
  connect()
  leg.close('hangup')
  clock.advance(0)
  t.equal(peer.dtls.received.at(-1), -100, 'close_notify')
  t.equal(left.length, 0, 'the peer did not leave')
})
