import t from 'tap'
import { PACKET_MS } from '../../../fixtures/rtp/rtp-peer.js'
import { openService, type Service } from '../../../fixtures/service/service.js'
import { dial } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'

/*
 * Barge-in on the wire: what a telephone receives that speaks during the agent's sentence.
 */

const GREETING =
  'Welcome to Smile Dental Clinic. We are open from nine in the morning until eight in the evening on every day of the week.'

async function callIn(t: Parameters<typeof openService>[0]) {
  const service = await openService(t, {
    virtual: true,
    agent: { callSettings: { inboundOpeningLine: { text: GREETING }, hangupLine: null } },
  })
  const peer = await openSipPeer({ clock: service.clock })
  t.teardown(() => peer.close())
  const target = service.target('udp')
  const phone = await dial(peer, {
    uri: `sip:${service.number}@${target.address}:${target.port}`,
    target,
    rtp: { codec: 'PCMU', clock: service.clock },
  })
  t.teardown(() => phone.close())
  await service.until('the answer', () => service.events.some((event) => event.type === 'answered'))
  return { service, phone, callId: service.events[0]?.callId ?? '' }
}

const agentTurns = (service: Service, callId: string) =>
  service
    .of(callId, 'turn')
    .map((event) => event.turn)
    .filter((turn) => turn.speaker === 'agent')

t.test('barge-in: the rest of the sentence is never sent', async (t) => {
  const { service, phone, callId } = await callIn(t)
  const clip = findClip('interrupt-stop')
  const spoken = phone.rtp.say(readClip(clip))
  await service.until('the interruption', () => service.of(callId, 'interrupted').length > 0)
  await service.until('the cut turn', () => agentTurns(service, callId).length > 0)
  const [turn] = agentTurns(service, callId)
  t.ok(turn?.cutAtMs !== undefined)
  t.ok(GREETING.startsWith(turn?.heardText ?? '-'), 'the transcript holds the beginning')
  t.ok((turn?.heardText.length ?? 0) < GREETING.length / 2, 'and no more')

  await spoken.done
  // This caller is not recognised, so the next speech is the engine's own phrase: a new turn.
  await service.until('the next turn', () => agentTurns(service, callId).length > 1)
  const next = agentTurns(service, callId)[1]
  // Packets carry session time: one every 20 ms from the first frame, which is up to one packet after time
  // zero. The packet being filled when the agent stops still fades out.
  const first = phone.rtp.audio()[0]?.timestamp ?? 0
  const inside = phone.rtp
    .loud()
    .map((packet) => ((packet.timestamp - first) >>> 0) / 8)
    .filter((atMs) => atMs > (turn?.cutAtMs ?? 0) + 2 * PACKET_MS && atMs < (next?.startMs ?? 0) - PACKET_MS)
  t.strictSame(inside, [], 'silence between the cut and the next turn')
  const sequences = phone.rtp.audio().map((packet) => packet.sequence)
  t.strictSame(
    sequences,
    sequences.map((_value, index) => ((sequences[0] ?? 0) + index) & 0xffff),
    'packets go on without a gap',
  )
})

for (const sound of ['cough', 'mm-hmm']) {
  t.test(`a ${sound} does not end the sentence`, async (t) => {
    const { service, phone, callId } = await callIn(t)
    phone.rtp.say(readClip(findClip(sound)))
    await service.until('the whole greeting', () => agentTurns(service, callId).length > 0)
    const [turn] = agentTurns(service, callId)
    t.equal(turn?.heardText, GREETING)
    t.equal(turn?.cutAtMs, undefined)
    t.equal(service.of(callId, 'interrupted').length, 0)
    const [resumed] = service.of(callId, 'resumed')
    if (sound === 'cough') t.ok(resumed, 'it paused, and went on')
    // The number of loud packets of a greeting with a pause equals that without one.
    const loudMs = phone.rtp.loud().length * PACKET_MS
    t.ok(loudMs > 4_000, `${loudMs} ms of the sentence arrived`)
  })
}
