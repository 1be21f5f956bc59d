import t from 'tap'
import { PACKET_MS } from '../../fixtures/rtp/peer-stream.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { MS_PER_CHARACTER } from '../../fixtures/virtual-call/scripted-vendors.js'
import { NOTHING_LEFT, openVirtualCall, type VirtualCall } from '../../fixtures/virtual-call/virtual-call.js'

/*
 * Barge-in in the RTP that a telephone receives while its caller speaks during the agent's sentence.
 */

const GREETING =
  'Welcome to Smile Dental Clinic. We are open from nine in the morning until eight in the evening on every day of the week.'

/** Calls an agent whose recogniser understands no caller. */
const callIn = () => openVirtualCall({ agent: { openingLine: GREETING }, understandsSpeech: false })

const agentTurns = (call: VirtualCall) =>
  call
    .of('turn')
    .map(({ turn }) => turn)
    .filter(({ speaker }) => speaker === 'agent')

t.test('barge-in: the rest of the sentence is never sent', async (t) => {
  const call = await callIn()
  call.rtp.say(readClip(findClip('interrupt-stop')))
  await call.until('interruption', () => call.of('interrupted').length > 0)
  await call.until('cut turn', () => agentTurns(call).length > 0)
  const [turn] = agentTurns(call)
  t.ok(turn?.cutAtMs !== undefined)
  t.ok(GREETING.startsWith(turn?.heardText ?? '-'), 'the transcript holds the beginning')
  t.ok((turn?.heardText.length ?? 0) < GREETING.length / 2, 'and no more')

  // This caller is not recognised, so the next speech is the engine's own phrase: a new turn.
  await call.until('next turn', () => agentTurns(call).length > 1)
  const next = agentTurns(call)[1]
  // Packets carry session time: one every 20 ms from the first frame, which is up to one packet after time
  // zero. The packet being filled when the agent stops still fades out.
  const first = call.rtp.audio()[0]?.timestamp ?? 0
  const inside = call.rtp
    .loud()
    .map((packet) => ((packet.timestamp - first) >>> 0) / 8)
    .filter((atMs) => atMs > (turn?.cutAtMs ?? 0) + 2 * PACKET_MS && atMs < (next?.startMs ?? 0) - PACKET_MS)
  t.strictSame(inside, [], 'silence between the cut and the next turn')
  const sequences = call.rtp.audio().map((packet) => packet.sequence)
  t.strictSame(
    sequences,
    sequences.map((_value, index) => ((sequences[0] ?? 0) + index) & 0xffff),
    'packets go on without a gap',
  )
  t.strictSame(await call.close(), NOTHING_LEFT)
})

for (const sound of ['cough', 'mm-hmm']) {
  t.test(`a ${sound} does not end the sentence`, async (t) => {
    const call = await callIn()
    call.rtp.say(readClip(findClip(sound)))
    await call.until('whole greeting', () => agentTurns(call).length > 0)
    const [turn] = agentTurns(call)
    t.equal(turn?.heardText, GREETING)
    t.equal(turn?.cutAtMs, undefined)
    t.equal(call.of('interrupted').length, 0)
    const [resumed] = call.of('resumed')
    if (sound === 'cough') t.ok(resumed, 'it paused, and went on')
    // The number of loud packets of a greeting with a pause equals that without one.
    const loudMs = call.rtp.loud().length * PACKET_MS
    const wholeMs = GREETING.length * MS_PER_CHARACTER
    t.ok(Math.abs(loudMs / wholeMs - 1) < 0.03, `${loudMs} of ${wholeMs} ms of the sentence arrived`)
    t.strictSame(await call.close(), NOTHING_LEFT)
  })
}
