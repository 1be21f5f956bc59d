import t from 'tap'
import { Detectors } from '../detect/detectors.js'
import type { DetectorEvent } from '../detect/events.js'
import type { Endpoint } from '../session/endpoint.js'
import { DtmfToneEndpoint, ToneEndpoint } from './endpoints.js'
import { TONES } from './tone.js'

/* The detectors, which share no code with the tone generator, check its tones. */

function heard(
  end: Endpoint,
  ms: number,
  rate: 8000 | 16000,
  names: readonly ('dtmf' | 'progress' | 'beep')[],
) {
  const events: DetectorEvent[] = []
  const detectors = new Detectors(rate, names, (event) => events.push(event))
  const frame = new Int16Array(rate / 50)
  for (let at = 0; at < ms; at += 20) {
    if (!end.pull(frame, (at * rate) / 1000)) frame.fill(0)
    detectors.process(frame, at)
  }
  return events
}

for (const rate of [8000, 16000] as const) {
  t.test(`every digit is detected once, at ${rate} Hz`, (t) => {
    const keys = '0123456789*#ABCD'
    const end = new DtmfToneEndpoint('keys', rate)
    end.press([...keys] as Parameters<DtmfToneEndpoint['press']>[0])
    const events = heard(end, keys.length * 260 + 400, rate, ['dtmf'])
    t.equal(events.map((event) => (event.type === 'digit' ? event.digit : '?')).join(''), keys)
    t.ok(
      events.every((event, i) => event.type === 'digit' && Math.abs(event.startMs - i * 260) < 40),
      'in time',
    )
    t.end()
  })

  for (const tone of ['ringback', 'busy', 'congestion', 'unobtainable'] as const) {
    t.test(`${tone} of India is detected at ${rate} Hz`, (t) => {
      const events = heard(new ToneEndpoint('tone', rate, TONES[tone]), 12_000, rate, ['progress', 'dtmf'])
      t.match(events, [{ type: 'progress', tone, plan: 'in' }])
      t.equal(events.length, 1)
      t.end()
    })
  }
}
