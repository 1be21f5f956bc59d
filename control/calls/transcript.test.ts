import t from 'tap'
import type { TimedWord } from '../../media/agent/agent-spec.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { systemLine } from '../dashboard/src/parts/system-line.js'
import { segmentOf, Transcript, transcriptView } from './transcript.js'

function turn(startMs: number, endMs: number, words: readonly TimedWord[] | null): CallEvent {
  const text = 'one two'
  const told = { id: 1, speaker: 'caller', text, heardText: text, language: 'en-IN' } as const
  return { callId: 'call_1', seq: 3, at: 0, type: 'turn', turn: { ...told, startMs, endMs, words } }
}

const word = (text: string, startMs: number, endMs: number): TimedWord => ({ text, startMs, endMs })

t.test('the transcript is readable for any times that a recogniser reports', async (t) => {
  for (const [startMs, endMs, words, expected] of [
    [
      40.4,
      900.6,
      [word('one', 40.4, 300)],
      { startMs: 40, endMs: 901, words: [{ w: 'one', s: 40, e: 300 }] },
    ],
    [40, 900, [word('one', 40, Number.POSITIVE_INFINITY)], { startMs: 40, endMs: 900, words: null }],
    [40, 900, [word('one', Number.NaN, 50), word('two', 60, 70)], { startMs: 40, endMs: 900, words: null }],
    [40, 900, [word('one', 1e300, 50)], { startMs: 40, endMs: 900, words: null }],
    [Number.NEGATIVE_INFINITY, Number.NaN, null, { startMs: 0, endMs: 0, words: null }],
  ] as const) {
    const row = segmentOf(turn(startMs, endMs, words))
    if (row === null) throw new Error('no segment')
    const view = Transcript.parse(transcriptView('call_1', [row]))
    t.match(view.segments, [{ text: 'one two', ...expected }])
  }
})

t.test('the transcript is readable with times that older releases stored', async (t) => {
  const row = segmentOf(turn(0, 100, null))
  if (row === null) throw new Error('no segment')
  const old = { ...row, endMs: Number.POSITIVE_INFINITY, words: '[{"w":"one","s":0,"e":null}]' }
  t.match(Transcript.parse(transcriptView('call_1', [old])).segments, [{ startMs: 0, endMs: 0, words: null }])
})

t.test('the dashboard reads the lines that the service writes into a transcript', async (t) => {
  const about = { callId: 'call_1', seq: 1, at: 0, atMs: 0 }
  const lines: readonly (readonly [CallEvent, ReturnType<typeof systemLine>])[] = [
    [
      { ...about, type: 'dtmf', digit: '#', durationMs: 100 },
      { text: 'pressed', values: { key: '#' }, part: null },
    ],
    [
      { ...about, type: 'note', text: 'The visit:\nbooked.' },
      { text: 'note', values: { note: 'The visit:\nbooked.' }, part: null },
    ],
  ]
  for (const [event, line] of lines) t.same(systemLine(segmentOf(event)?.text ?? ''), line)
  const parts = ['speech_to_text', 'text_to_speech', 'language_model', 'recording', 'media', 'bot'] as const
  for (const part of parts) {
    const trouble = { ...about, type: 'trouble', part, code: 'vendor_failed', message: 'closed' } as const
    t.same(systemLine(segmentOf(trouble)?.text ?? ''), {
      ...{ text: 'trouble', values: { code: 'vendor_failed' }, part },
    })
    t.same(systemLine(segmentOf({ ...trouble, instead: 'azure' })?.text ?? ''), {
      ...{ text: 'tookOver', values: { code: 'vendor_failed', instead: 'azure' }, part },
    })
  }
  t.equal(systemLine('Another sentence.'), null)
})
