import t, { type Test } from 'tap'
import { tone, usualToneLevel } from '../../fixtures/audio/tones.js'
import { HUMS, voicesIn } from '../../fixtures/rigs/transfer-rig.js'
import { openRtpPeer, type RtpPeer } from '../../fixtures/rtp/rtp-peer.js'
import { offerOf } from '../../fixtures/sip/phone.js'
import { readSdp } from '../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../fixtures/sip/sip-dialog.js'
import { cseqOf, formatSip, header, type SipMessage, tagOf } from '../../fixtures/sip/sip-message.js'
import { openSipPeer, type SipPeer } from '../../fixtures/sip/sip-peer.js'
import { diallerAgent } from '../../fixtures/virtual-call/dialler-agent.js'
import { openSandboxCalls } from '../../fixtures/virtual-call/sandbox-calls.js'
import { codecOf } from '../../media/codec/registry.js'
import type { Gateway, LegClearance } from './ports.js'

/*
 * Two people who talk over two legs: each telephone renegotiates its own leg, over real SIP on virtual time, while the other
 * leg goes on. Caller and person hum, which tells whom each of them hears.
 */

const LOOPBACK = '127.0.0.1'
const LIMIT_MS = 120_000
const SETTLE_MS = 600
/** Longer than the pauses of ringing tones. */
const LISTEN_MS = 2_400
const LEVEL = 0.2

/** The refresh of a session that the service is responsible for, every 45 s. */
const REFRESHED = (refresher: 'uac' | 'uas') =>
  [
    ['Supported', 'timer'],
    ['Session-Expires', `90;refresher=${refresher}`],
  ] as const

interface Telephone {
  readonly peer: SipPeer
  readonly dialog: SipDialog
  rtp: RtpPeer
}

interface Bridge {
  readonly caller: Telephone
  readonly person: Telephone
  wait(ms: number): Promise<void>
  /** Sends an offer of this telephone and returns the status of its answer. */
  offer(of: Telephone, change?: (sdp: string) => string): Promise<number>
  /** Returns the sounds that caller and person hear now. */
  hear(): Promise<readonly string[]>
  /** A telephone moves to a socket and a codec of its own choice, and returns the status. */
  move(of: Telephone, codec: 'PCMA' | 'PCMU', name: 'caller' | 'person'): Promise<number>
  /** How many INVITEs of the service inside this call a telephone has seen, without those that were sent again. */
  reinvites(of: Telephone): number
  readonly port: number
  readonly live: () => number
}

/** Connects a caller with a person: a forwarded call, or one that an agent transfers. */
async function openBridge(t: Test, kind: 'forwarded' | 'transferred'): Promise<Bridge> {
  let gateway: Gateway | null = null
  const clear = async (): Promise<LegClearance | null> =>
    gateway === null ? null : { permit: calls.permit('call_1', '+919812345678'), gateway }
  const calls = await openSandboxCalls({
    mediaTimeoutMs: 300_000,
    admit: async () => ({
      admit: true,
      callId: 'call_1',
      codecs: ['PCMA', 'PCMU'],
      recordTo: null,
      ...(kind === 'forwarded'
        ? {
            party: { kind: 'none', maxCallSeconds: 3600 },
            forward: { ringTimeoutMs: 25_000, clear },
          }
        : {
            party: {
              kind: 'agent',
              agent: { ...diallerAgent, nudges: { enabled: false, hangupAfter: false, steps: [] } },
            },
          }),
    }),
  })
  t.teardown(() => calls.close())
  const { clock } = calls
  const until = (what: string, done: () => boolean) => clock.until(() => what, done, LIMIT_MS)
  const rtpOf = async (codec: 'PCMA' | 'PCMU', hertz: number) => {
    const background = tone(hertz, 1_000, 8_000, LEVEL)
    const rtp = await openRtpPeer({ codec, clock, background }, calls.network)
    t.teardown(() => rtp.close())
    return rtp
  }
  const ringing: SipDialog[] = []
  const personPeer = await openSipPeer({ clock, onInvite: (dialog) => void ringing.push(dialog) })
  const callerPeer = await openSipPeer({ clock })
  t.teardown(() => Promise.all([personPeer.close(), callerPeer.close()]))
  gateway = {
    host: LOOPBACK,
    port: personPeer.port,
    transport: 'udp',
    codecs: ['PCMU', 'PCMA', 'G722'],
  }

  const callerRtp = await rtpOf('PCMA', HUMS.caller)
  const callerDialog = callerPeer.invite({
    uri: `sip:+911140000001@${LOOPBACK}:${calls.port}`,
    target: { address: LOOPBACK, port: calls.port },
    sdp: offerOf(callerRtp),
    headers: REFRESHED('uas'),
  })
  if (kind === 'transferred') {
    await until('the agent', () => calls.events.some(({ type }) => type === 'answered'))
    const refusal = calls.control.transfer('call_1', {
      ...{ mode: 'blind', destination: '+919812345678', fallback: null, ringTimeoutMs: 25_000 },
      ...{ announcement: null, waitLine: null, missLine: null, returnLine: null, report: null },
      ...{ listening: null, recordTo: null },
      describe: () => ({}),
      brief: () => ({ text: '', keys: '' }),
      partingLine: () => null,
      clear,
    })
    t.equal(refusal, null)
  }
  await until('the call to the person', () => ringing.length === 1)
  const [personDialog] = ringing
  if (personDialog === undefined) throw new Error('nobody was called')
  const personRtp = await rtpOf('PCMU', HUMS.person)
  personDialog.ring()
  personDialog.answer(offerOf(personRtp), REFRESHED('uac'))
  personRtp.start(readSdp(personDialog.remoteSdp ?? ''))
  await until('the answer', () => callerDialog.status === 200)
  callerRtp.start(readSdp(callerDialog.remoteSdp ?? ''))
  if (kind === 'transferred') {
    await until(`the bridge: ${JSON.stringify(calls.events.slice(-4))}`, () =>
      calls.events.some((event) => event.type === 'transfer' && event.status === 'bridged'),
    )
  }
  const caller: Telephone = { peer: callerPeer, dialog: callerDialog, rtp: callerRtp }
  const person: Telephone = { peer: personPeer, dialog: personDialog, rtp: personRtp }

  const offer: Bridge['offer'] = async ({ dialog, rtp }, change = (sdp) => sdp) => {
    dialog.reinvite(change(offerOf(rtp)))
    return await dialog.final(LIMIT_MS)
  }
  const bridge: Bridge = {
    caller,
    person,
    port: calls.port,
    live: () => calls.control.live,
    wait: (ms) => clock.wait(ms),
    offer,
    async hear() {
      await clock.wait(SETTLE_MS)
      const phones = [caller.rtp, person.rtp]
      const from = phones.map((rtp) => rtp.heard().pcm.length)
      await clock.wait(LISTEN_MS)
      return phones.map((rtp, i) => voicesIn(rtp.heard().pcm.subarray(from[i])).join('+'))
    },
    async move(of, codec, name) {
      of.rtp.pause()
      of.rtp = await rtpOf(codec, HUMS[name])
      const status = await offer(of)
      of.rtp.start(readSdp(of.dialog.remoteSdp ?? ''))
      return status
    },
    reinvites: ({ peer, dialog }) => {
      const own = peer.log.filter(({ direction, message }) => isReinvite(message, direction, dialog))
      return new Set(own.map(({ message }) => cseqOf(message).number)).size
    },
  }
  t.same(await bridge.hear(), ['person', 'caller'])
  return bridge
}

function isReinvite(message: SipMessage, direction: 'in' | 'out', { callId }: SipDialog): boolean {
  return (
    direction === 'in' &&
    message.method === 'INVITE' &&
    header(message, 'call-id') === callId &&
    tagOf(header(message, 'to')) !== null
  )
}

const directed = (direction: string) => (sdp: string) => sdp.replace('a=sendrecv', `a=${direction}`)

for (const kind of ['forwarded', 'transferred'] as const) {
  t.test(`a ${kind} call: hold and resume on either leg`, { timeout: 120_000 }, async (t) => {
    const bridge = await openBridge(t, kind)
    const { caller, person, offer, hear } = bridge

    // The telephone system of the person plays something of its own.
    t.equal(await offer(person, directed('sendonly')), 200)
    t.match(person.dialog.remoteSdp, /a=recvonly/)
    t.same(await hear(), ['person', 'nothing'], 'the caller hears what the holder sends')
    person.rtp.pause()
    t.same(await hear(), ['music', 'nothing'], 'and our music when it sends nothing')
    person.rtp.start(readSdp(person.dialog.remoteSdp ?? ''))
    t.equal(await offer(person), 200)
    t.match(person.dialog.remoteSdp, /a=sendrecv/)
    t.same(await hear(), ['person', 'caller'])

    for (const [holder, other, heard] of [
      [person, caller, ['music', 'nothing']],
      [caller, person, ['nothing', 'music']],
    ] as const) {
      holder.rtp.pause()
      t.equal(await offer(holder, directed('inactive')), 200)
      t.match(holder.dialog.remoteSdp, /a=inactive/)
      t.same(await hear(), heard)
      t.equal(other.dialog.status ?? 200, 200)
      holder.rtp.start(readSdp(holder.dialog.remoteSdp ?? ''))
      t.equal(await offer(holder), 200)
      t.same(await hear(), ['person', 'caller'], 'resumed')
    }

    // Both hold, and resume in the other order.
    for (const phone of [person, caller]) {
      phone.rtp.pause()
      t.equal(await offer(phone, directed('inactive')), 200)
    }
    t.same(await hear(), ['nothing', 'nothing'])
    for (const phone of [person, caller]) {
      phone.rtp.start(readSdp(phone.dialog.remoteSdp ?? ''))
      t.equal(await offer(phone), 200)
    }
    t.same(await hear(), ['person', 'caller'])
    t.equal(bridge.live(), 1)
  })
}

t.test('codecs, addresses and late offers change on either leg', { timeout: 120_000 }, async (t) => {
  const bridge = await openBridge(t, 'forwarded')
  const { caller, person, hear, move, offer } = bridge
  const before = { caller: caller.rtp.port, person: person.rtp.port }
  t.equal(await move(person, 'PCMA', 'person'), 200)
  t.same(await hear(), ['person', 'caller'], 'the person has PCMA on another port')
  t.equal(await move(caller, 'PCMU', 'caller'), 200)
  t.same(await hear(), ['person', 'caller'], 'the caller has PCMU on another port')
  t.not(person.rtp.port, before.person)
  t.not(caller.rtp.port, before.caller)

  const wideband = (sdp: string) =>
    sdp
      .replace(/m=audio (\d+) RTP\/AVP .*/, 'm=audio $1 RTP/AVP 9 101')
      .replace(/a=rtpmap:8 .*/, 'a=rtpmap:9 G722/8000')
  const from = person.rtp.received.length
  t.equal(await offer(person, wideband), 200)
  t.match(person.dialog.remoteSdp, /m=audio \d+ RTP\/AVP 9 /)
  await bridge.wait(2_000)
  const packets = person.rtp.received.slice(from).filter(({ payloadType }) => payloadType === 9)
  t.ok(packets.length > 50, `${packets.length} packets of G.722`)
  const decoder = codecOf('G722').openDecoder(16_000)
  const samples = (decoder.rate / 1000) * 20
  const pcm = new Int16Array(packets.length * samples)
  for (const [i, { payload }] of packets.entries()) {
    decoder.decode(payload, 0, payload.length, pcm.subarray(i * samples, (i + 1) * samples))
  }
  t.ok(usualToneLevel(pcm, HUMS.caller, decoder.rate) > 0.05, 'the person hears the caller in G.722')

  t.equal(
    await offer(person, (sdp) => sdp.replace(/m=audio (\d+) RTP\/AVP .*/, 'm=audio $1 RTP/AVP 18')),
    488,
  )
  t.equal(await move(person, 'PCMU', 'person'), 200)
  t.same(await hear(), ['person', 'caller'], 'a refused offer changes nothing, and the next one counts')

  // An offer in the 200 and its answer in the ACK.
  person.dialog.ackSdp = offerOf(person.rtp)
  person.dialog.reinvite(null)
  t.equal(await person.dialog.final(LIMIT_MS), 200)
  person.dialog.ackSdp = null
  t.same(await hear(), ['person', 'caller'])
})

for (const name of ['caller', 'person'] as const) {
  t.test(`offers cross on the leg of the ${name}`, { timeout: 120_000 }, async (t) => {
    const bridge = await openBridge(t, 'forwarded')
    const phone = bridge[name]
    const { peer, dialog } = phone
    const until = async (done: () => boolean) => {
      for (let waited = 0; !done() && waited < 200; waited++) await bridge.wait(500)
      t.ok(done(), `${bridge.reinvites(phone)} offers of the service`)
    }
    const refreshes = (count: number) => until(() => bridge.reinvites(phone) >= count)
    // The telephone has an offer under way when that of the service, which refreshes the session, arrives.
    dialog.isOffering = true
    await refreshes(1)
    dialog.isOffering = false
    t.same(await bridge.hear(), ['person', 'caller'])
    await refreshes(2)
    t.same(await bridge.hear(), ['person', 'caller'], 'the service tried again')

    // The offer of the service is on the way while the telephone makes one.
    peer.intercept = (message, direction) =>
      direction === 'in' && message.method === 'INVITE' ? 'drop' : 'pass'
    // Refreshes that came while the tones were heard have been answered.
    await refreshes(bridge.reinvites(phone) + 1)
    dialog.reinvite(offerOf(phone.rtp))
    t.equal(await dialog.final(LIMIT_MS), 491)
    const lost = peer.log.length
    peer.intercept = () => 'pass'
    await until(() =>
      peer.log.slice(lost).some(({ direction, message }) => isReinvite(message, direction, dialog)),
    )
    await bridge.wait(500)
    t.equal(await bridge.offer(phone), 200, 'once the refresh is over')
    t.same(await bridge.hear(), ['person', 'caller'])
    t.equal(bridge.live(), 1)
  })
}

t.test('an INVITE of ours that comes back to us is a loop', async (t) => {
  const bridge = await openBridge(t, 'forwarded')
  const { peer, dialog } = bridge.person
  const { invite } = dialog
  if (invite === null) throw new Error('the person was not called')
  const headers = invite.headers.filter(([name]) => name !== 'content-length')
  peer.sendRaw(
    formatSip(
      `INVITE sip:+919812345678@${LOOPBACK}:${bridge.port} SIP/2.0`,
      [['via', peer.via('z9hG4bKloop')], ...headers],
      invite.body,
    ),
    { address: LOOPBACK, port: bridge.port },
  )
  const answer = await peer.waitFor(
    (message, direction) =>
      direction === 'in' && (message.status ?? 0) > 100 && cseqOf(message).method === 'INVITE',
    LIMIT_MS,
  )
  t.equal(answer.status, 482)
  t.same(await bridge.hear(), ['person', 'caller'], 'the call goes on')
})
