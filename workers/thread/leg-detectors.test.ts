import t from 'tap'
import { keyTone } from '../../fixtures/audio/dtmf.js'
import { joined, tone } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { Digit } from '../../media/base/frame.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import { ANSWER_SOUNDS, LegDetectors } from './leg-detectors.js'

function rig(options: { hasEvents?: boolean; expected?: boolean } = {}) {
  const { hasEvents = false, expected = true } = options
  const clock = new VirtualClock()
  const keys: Digit[] = []
  const events: DetectorEvent[] = []
  const traffic = { sent: 0, received: 0, expected }
  const ear = new LegDetectors({
    rate: 8000,
    clock,
    onDigit: (digit) => keys.push(digit),
    onEvent: (event) => events.push(event),
    atFirst: ANSWER_SOUNDS,
    telephoneEventNegotiated: () => hasEvents,
    traffic: () => traffic,
  })
  let at = 0
  const hear = (pcm: Int16Array, comes = true) => {
    for (let from = 0; from + 160 <= pcm.length; from += 160) {
      clock.advance(20)
      traffic.sent++
      if (comes) traffic.received++
      ear.process({ pcm: pcm.subarray(from, from + 160), rate: 8000, at })
      at += 160
    }
  }
  return { ear, keys, events, hear, clock }
}

const quiet = (ms: number) => new Int16Array(ms * 8)
const key = (digit: string) => joined(keyTone(digit), quiet(100))

t.test('digits from tones, until a better source is used', async (t) => {
  const it = rig()
  it.hear(joined(key('1'), key('2')))
  t.same(it.keys, ['1', '2'])
  it.ear.onInfoDigit('3', 100)
  it.hear(key('3'))
  t.same(it.keys, ['1', '2', '3'], 'and its sound is the same key')
  const other = rig({ hasEvents: true })
  other.hear(key('4'))
  other.ear.onRtpDigit()
  other.hear(quiet(1000))
  t.same(other.keys, [], 'the event has been delivered')
  t.equal(other.clock.pending, 0)
})

t.test('the echo of tones that we send is not a digit', async (t) => {
  const it = rig()
  it.ear.onTonesSent(2)
  it.hear(joined(key('1'), quiet(60), key('2')))
  t.same(it.keys, [])
  it.hear(quiet(1500))
  it.hear(key('9'))
  t.same(it.keys, ['9'], 'later ones are the caller again')
})

t.test('answering machines and network tones are detected in the first minute only', async (t) => {
  const it = rig()
  const beep = joined(quiet(400), tone(1000, 300), quiet(400))
  it.hear(beep)
  t.same(
    it.events.map((event) => event.type),
    ['beep'],
  )
  for (let i = 0; i < 6; i++) it.hear(tone(200, 10_000, 8000, 0.01))
  it.events.length = 0
  it.hear(beep)
  t.same(it.events, [])
})

t.test('one-way audio is reported while media is expected, never on hold', async (t) => {
  const it = rig()
  it.hear(tone(200, 2000), true)
  it.hear(quiet(6000), false)
  t.match(it.events, [{ type: 'one_way', what: 'nothing_comes', over: false }])
  const held = rig({ expected: false })
  held.hear(quiet(8000), false)
  t.same(held.events, [])
})
