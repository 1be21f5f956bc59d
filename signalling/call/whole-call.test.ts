import t from 'tap'
import { decodeG711 } from '../../fixtures/audio/g711.js'
import { joined, levelDbfs, usualToneLevel } from '../../fixtures/audio/tones.js'
import { PACKET_MS, type RtpPeer } from '../../fixtures/rtp/peer-stream.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { VOICE_AMPLITUDE, VOICE_HZ } from '../../fixtures/virtual-call/scripted-vendors.js'
import { NOTHING_LEFT, openVirtualCall, type VirtualCall } from '../../fixtures/virtual-call/virtual-call.js'
import { STOPPED_BY_STAFF } from './ending.js'

/*
 * Whole calls in memory: the real call, media session and conversation on virtual time.
 */

const OPENING = 'Welcome to Smile Dental Clinic. How can I help you?'
const LONG_OPENING =
  'This is Smile Dental Clinic in Bengaluru. We call you about your appointment on Monday at ten. Is this a good time to talk?'
const PRICES = 'A check-up costs five hundred rupees, and a cleaning costs one thousand rupees on every day.'

const clip = (name: string) => readClip(findClip(name))
const turnsOf = (call: VirtualCall) => call.of('turn').map(({ turn }) => turn)
const agentTurns = (call: VirtualCall) => turnsOf(call).filter(({ speaker }) => speaker === 'agent')

/** Returns what the caller received between two session times (ms). */
function received(rtp: RtpPeer, fromMs: number, toMs: number): Int16Array {
  const packets = rtp.audio()
  const zero = packets[0]?.timestamp ?? 0
  const inside = packets.filter(({ timestamp }) => {
    const atMs = ((timestamp - zero) >>> 0) / 8
    return atMs >= fromMs && atMs < toMs
  })
  return joined(...inside.map(({ payload }) => decodeG711(rtp.codec, payload)))
}

t.test('a call of a minute: turns, a barge-in, keys, hang-up', async (t) => {
  const call = await openVirtualCall({
    agent: { openingLine: OPENING },
    heard: ['Hello?', 'How much does it cost?', 'Stop, I understand.', 'That sounds good to me.'],
    reply: (said) => (said.includes('cost') ? PRICES : `You said: ${said}`),
  })
  const agentSays = (count: number) =>
    call.until(`turn ${count} of the agent`, () => agentTurns(call).length === count)
  await agentSays(1)
  call.rtp.say(clip('hello'))
  await agentSays(2)
  call.rtp.say(clip('interrupt-price'))
  await call.until('reply', () => call.of('trace').length === 2)
  await call.run(1_500)
  call.rtp.say(clip('interrupt-stop'))
  await agentSays(4)
  call.rtp.press('42#')
  await agentSays(5)
  call.rtp.say(clip('sounds-good'))
  await agentSays(6)
  await call.run(60_000 - call.clock.now())
  call.caller.hangUp()
  await call.until('end', () => call.of('ended').length === 1)

  const turns = turnsOf(call)
  const [cut] = turns.filter(({ cutAtMs }) => cutAtMs !== undefined)
  t.strictSame(
    turns.map(({ speaker, heardText }) => `${speaker}: ${heardText}`),
    [
      `agent: ${OPENING}`,
      'caller: Hello?',
      'agent: You said: Hello?',
      'caller: How much does it cost?',
      `agent: ${cut?.heardText}`,
      'caller: Stop, I understand.',
      'agent: You said: Stop, I understand.',
      'caller: 42',
      'agent: You said: 42',
      'caller: That sounds good to me.',
      'agent: You said: That sounds good to me.',
    ],
    'the transcript',
  )
  t.ok(PRICES.startsWith(cut?.heardText ?? '-'), 'the cut turn holds the beginning of the reply')
  t.ok((cut?.heardText.length ?? 0) < PRICES.length / 2, 'and no more')

  const shown = call.events.map((event) => event.type).filter((type) => !/^(trace|turn_record)$/.test(type))
  t.strictSame(shown, [
    ...['ringing', 'answered'],
    ...['turn', 'turn', 'turn', 'turn', 'interrupted', 'turn', 'turn', 'turn'],
    ...['dtmf', 'dtmf', 'dtmf', 'turn', 'turn', 'turn', 'turn'],
    ...['detected', 'detected', 'usage', 'ended'],
  ])
  t.strictSame(
    call.events.map(({ seq }) => seq),
    call.events.map((_, index) => index + 1),
    'every event has its number',
  )
  t.equal(
    call
      .of('dtmf')
      .map(({ digit }) => digit)
      .join(''),
    '42#',
  )
  t.equal(call.vendors.requests.length, 5, 'the model was asked once for each turn')
  t.strictSame(call.caller.statuses, [180, 200])

  for (const { heardText, startMs, endMs } of turns.filter(({ speaker }) => speaker === 'agent')) {
    const level = usualToneLevel(received(call.rtp, startMs + 100, endMs - 100), VOICE_HZ)
    t.ok(Math.abs(level / VOICE_AMPLITUDE - 1) < 0.1, `${heardText}: the voice has its level (${level})`)
  }
  for (const { heardText, startMs } of agentTurns(call)) {
    const level = levelDbfs(received(call.rtp, startMs - 200, startMs - PACKET_MS))
    t.ok(level < -60, `${heardText}: silence before (${level} dBFS)`)
  }
  const cutAtMs = cut?.cutAtMs ?? 0
  const after = levelDbfs(received(call.rtp, cutAtMs + 2 * PACKET_MS, cutAtMs + 1_000))
  t.ok(after < -60, `silence after the interruption (${after} dBFS)`)

  const [ended] = call.of('ended')
  t.match(ended, { ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' }, rtp: { lost: 0 } })
  const sent = ended?.rtp?.packetsSent ?? 0
  t.ok(sent > 2_950 && sent <= 3_000, `a packet every 20 ms of a minute (${sent})`)
  t.equal(call.rtp.audio().length, sent, 'all of them arrived')
  t.strictSame(await call.close(), NOTHING_LEFT)
})

t.test('a call that staff stops: the agent ends its clause and says the hang-up line', async (t) => {
  const call = await openVirtualCall({
    agent: { openingLine: LONG_OPENING, hangupLine: 'We have to end here.' },
  })
  // In the middle of the first clause.
  await call.run(1_500)
  t.equal(call.control.finish('call_1', null, STOPPED_BY_STAFF), true)
  t.equal(call.control.finish('call_1', 'Again.', STOPPED_BY_STAFF), true, 'the first words count')
  await call.until('end', () => call.of('ended').length === 1)
  const [begun = '', ...rest] = agentTurns(call).map(({ heardText }) => heardText)
  t.ok(LONG_OPENING.startsWith(begun) && begun.endsWith('.') && begun !== LONG_OPENING, begun)
  t.strictSame(rest, ['We have to end here.'])
  t.match(call.of('ended')[0]?.ending, STOPPED_BY_STAFF)
  t.strictSame(await call.close(), NOTHING_LEFT)
})

t.test('a call that the API ends: at once, without words', async (t) => {
  const call = await openVirtualCall({
    agent: { openingLine: LONG_OPENING, hangupLine: 'We have to end here.' },
  })
  await call.run(1_500)
  const at = call.clock.now()
  t.equal(call.control.hangUp('call_1', 'operator'), true)
  await call.until('end', () => call.of('ended').length === 1)
  t.notOk(agentTurns(call).some(({ heardText }) => heardText.includes('We have to end here.')))
  t.ok(call.clock.now() - at < 1_000, 'no line was said')
  t.match(call.of('ended')[0]?.ending, { by: 'operator', cause: 'api_hangup', fault: 'none' })
  t.strictSame(await call.close(), NOTHING_LEFT)
})
