import t from 'tap'
import { joined, tone } from '../../fixtures/audio/tones.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { NOTHING_LEFT, openVirtualCall, type VirtualCall } from '../../fixtures/virtual-call/virtual-call.js'

const OPENING = 'Hello, this is Smile Dental Clinic. I am calling about your appointment on Monday morning.'
const MESSAGE = 'Please call Smile Dental Clinic back.'
const GREETING = 'Please leave a message after the tone.'
const BEEP = tone(1000, 600)

const silence = (ms: number) => new Int16Array(ms * 8)
const agentTurns = (call: VirtualCall) =>
  call.of('turn').flatMap(({ turn }) => (turn.speaker === 'agent' ? [turn] : []))

function callVoicemail(message: string | null): Promise<VirtualCall> {
  return openVirtualCall({
    agent: { openingLine: OPENING, voicemail: { enabled: true, windowSeconds: 8, message } },
    heard: [GREETING],
    reply: () => 'A voicemail gets no reply.',
  })
}

/** Returns the session time (ms) of the last event, by its type. */
const answeredMs = (call: VirtualCall) => call.of('answered_by').at(-1)?.atMs ?? Number.NaN

t.test('the message is left after the beep, and the call ends', async (t) => {
  const call = await callVoicemail(MESSAGE)
  const greeting = readClip(findClip('voicemail-greeting'))
  call.rtp.say(joined(silence(300), greeting, silence(3000), BEEP, silence(200)))
  await call.until('the end', () => call.of('ended').length === 1, 60_000)
  t.match(call.of('answered_by'), [{ by: 'voicemail' }])
  const [opening, message] = agentTurns(call)
  t.not(opening?.cutAtMs, undefined, 'the agent stops')
  t.equal(message?.heardText, MESSAGE)
  const beepEndMs = 300 + greeting.length / 8 + 3000 + 600
  t.ok((message?.startMs ?? 0) >= beepEndMs - 100, `at ${message?.startMs}, the beep ended at ${beepEndMs}`)
  t.match(call.of('ended'), [{ ending: { cause: 'voicemail' } }])
  t.strictSame(await call.close(), NOTHING_LEFT)
})

t.test('without a beep the message is left after a silence', async (t) => {
  const call = await callVoicemail(MESSAGE)
  call.rtp.say(joined(silence(300), readClip(findClip('voicemail-greeting')), silence(200)))
  await call.until('the end', () => call.of('ended').length === 1, 60_000)
  const message = agentTurns(call).at(-1)
  t.equal(message?.heardText, MESSAGE)
  t.ok((message?.startMs ?? 0) >= answeredMs(call) + 4000)
  t.strictSame(await call.close(), NOTHING_LEFT)
})

t.test('without a message the call ends at once', async (t) => {
  const call = await callVoicemail(null)
  call.rtp.say(joined(silence(300), readClip(findClip('voicemail-greeting')), silence(3000), BEEP))
  await call.until('the end', () => call.of('ended').length === 1, 60_000)
  t.ok(agentTurns(call).every(({ heardText }) => OPENING.startsWith(heardText)))
  t.match(call.of('ended'), [{ ending: { cause: 'voicemail' } }])
  t.strictSame(await call.close(), NOTHING_LEFT)
})
