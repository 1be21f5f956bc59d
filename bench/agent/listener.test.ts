import t from 'tap'
import { encodeG711 } from '../../fixtures/audio/g711.js'
import { tone } from '../../fixtures/audio/tones.js'
import { toneOf } from '../vendors/vocabulary.js'
import { Listener } from './listener.js'

const LOUD = encodeG711('PCMA', tone(400, 20))
const SILENT = encodeG711('PCMA', new Int16Array(160))

/** Feeds a packet every 20 ms from 0 to `untilMs`; `loud` says which are loud. */
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
  // The agent speaks again long after the sound, for another reason.
  const listener = listening(5000, (at) => at < 500 || at >= 3400)
  t.equal(listener.speakingAt(1000), false)
  t.equal(listener.resumedAfter(1000, 1500), null)
  t.equal(listener.speakingAt(400), true)
  t.equal(listener.speakingAt(4000), true)
  t.end()
})

/** Feeds two packets per word, -1 for silence; an entry may state a word and its number of packets. */
function reciting(said: readonly (number | readonly [word: number, packets: number])[]): Listener {
  const listener = new Listener({ words: true })
  said
    .flatMap((part) => {
      const [word, packets] = typeof part === 'number' ? [part, 2] : part
      return Array.from({ length: packets }, () => word)
    })
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
  return listener
}

const counted = (...words: readonly (readonly [index: number, packets: number])[]) =>
  words.map(([index, packets]) => ({ index, packets }))

t.test('the words of a recital: from its beginning to the next one, a pause in it left out', (t) => {
  // A complete recital that was stopped, then one that paused and resumed.
  const listener = reciting([0, 1, 2, 0, 1, -1, 1, 2, 3, -1, 0])
  t.same(listener.recital(100), counted([0, 2], [1, 2], [2, 2]))
  t.same(listener.recital(230), counted([0, 2], [1, 4], [2, 2], [3, 2]))
  t.same(listener.recital(125), counted([0, 2], [1, 4], [2, 2], [3, 2]), 'asked about within its first word')
  t.same(new Listener({ words: true }).recital(10), [])
  t.end()
})

t.test('a recital that is cut in its first word ends there; one that pauses in it goes on', (t) => {
  const cut = reciting([[0, 3], [-1, 15], [0, 11], 1])
  t.same(cut.recital(40), counted([0, 3]))
  t.same(cut.recital(600), counted([0, 11], [1, 2]))
  const paused = reciting([[0, 3], [-1, 15], [0, 9], 1])
  t.same(paused.recital(40), counted([0, 12], [1, 2]))
  t.end()
})

t.test('every end of its speech: where it paused, and where it was cut', (t) => {
  const listener = reciting([0, [1, 5], [-1, 15], [1, 6], 2, [-1, 3], 0, 1])
  t.same(listener.stops(60), [120, 720 - 140], 'the next recital follows at once')
  t.same(listener.stops(400), [580])
  t.end()
})
