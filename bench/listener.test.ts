import t from 'tap'
import { encodeG711 } from '../fixtures/g711.js'
import { tone } from '../fixtures/tones.js'
import { Listener } from './listener.js'
import { toneOf } from './vendors/words.js'

const LOUD = encodeG711('PCMA', tone(400, 20))
const SILENT = encodeG711('PCMA', new Int16Array(160))

/** A packet every 20 ms from 0 to `untilMs`, loud where told. */
function listening(untilMs: number, loud: (atMs: number) => boolean): Listener {
  const listener = new Listener()
  for (let i = 0; i * 20 < untilMs; i++) {
    listener.hear({
      atMs: i * 20,
      sequence: i,
      timestamp: i * 160,
      ssrc: 1,
      payloadType: 8,
      marker: false,
      payload: loud(i * 20) ? LOUD : SILENT,
      address: '127.0.0.1',
      port: 1,
    })
  }
  return listener
}

t.test('a pause for a sound ends with the first loud packet after it', (t) => {
  const listener = listening(5000, (at) => at < 1100 || at >= 1800)
  t.equal(listener.resumedAfter(1000, 1500), 1800)
  t.equal(listener.resumedAfter(3000, 3500), null, 'there was no pause')
  t.end()
})

t.test('an agent that was silent before was not stopped, and did not go on', (t) => {
  // It speaks again, for reasons of its own, long after the sound.
  const listener = listening(5000, (at) => at < 500 || at >= 3400)
  t.equal(listener.speakingAt(1000), false)
  t.equal(listener.resumedAfter(1000, 1500), null)
  t.equal(listener.speakingAt(400), true)
  t.equal(listener.speakingAt(4000), true)
  t.end()
})

t.test('the words of a recital: from its beginning to the next one, a pause in it left out', (t) => {
  const listener = new Listener({ words: true })
  // Two packets of each word: a whole recital that was cut, then one that paused and went on.
  const said = [0, 1, 2, 0, 1, -1, 1, 2, 3, -1, 0]
  said
    .flatMap((word) => [word, word])
    .forEach((word, i) => {
      listener.hear({
        atMs: i * 20,
        sequence: i,
        timestamp: i * 160,
        ssrc: 1,
        payloadType: 8,
        marker: false,
        payload: word < 0 ? SILENT : encodeG711('PCMA', tone(toneOf(word), 20)),
        address: '127.0.0.1',
        port: 1,
      })
    })
  t.same(listener.recital(100), [
    { index: 0, packets: 2 },
    { index: 1, packets: 2 },
    { index: 2, packets: 2 },
  ])
  t.same(listener.recital(230), [
    { index: 0, packets: 2 },
    { index: 1, packets: 4 },
    { index: 2, packets: 2 },
    { index: 3, packets: 2 },
  ])
  t.same(new Listener({ words: true }).recital(10), [])
  t.end()
})
