import t from 'tap'
import type { ScriptedUtterance, SpeakerScript, TimedWord } from '../../agent/agent-spec.js'
import type { SpeechToTextStream } from '../../agent/vendor-ports.js'
import { sandboxSpeechToText } from './stt.js'

/** Words of 200 ms with 100 ms between them, after 100 ms of silence; an empty text is a noise of 300 ms. */
function utterance(text: string): ScriptedUtterance {
  const words = text === '' ? [] : text.split(' ')
  const timed = words.map(
    (word, i): TimedWord => ({ text: word, startMs: 100 + i * 300, endMs: 300 + i * 300 }),
  )
  return {
    clip: text,
    text,
    language: 'en-IN',
    words: timed,
    onsetMs: 100,
    offsetMs: timed.at(-1)?.endMs ?? 400,
  }
}

interface Rig {
  readonly stream: SpeechToTextStream
  readonly log: string[]
  /** Received sound (or silence) up to session ms `untilMs`, in frames of 20 ms. */
  hear(untilMs: number, sound?: boolean): void
}

function setUp(script: SpeakerScript | null): Rig {
  const log: string[] = []
  const stream = sandboxSpeechToText(() => script).open(
    { rate: 8000, language: 'en-IN', model: null, mode: 'transcribe' },
    {
      partial: (text) => log.push(`~${text}`),
      final: (text, words) =>
        log.push(`=${text}|${(words ?? []).map(({ startMs, endMs }) => `${startMs}-${endMs}`).join()}`),
      failed: (error) => log.push(error.code),
    },
  )
  let nowMs = 0
  return {
    stream,
    log,
    hear(untilMs, sound = false) {
      const pcm = new Int16Array(160).fill(sound ? 3000 : 8)
      for (; nowMs < untilMs; nowMs += 20) stream.write(pcm, nowMs)
    },
  }
}

t.test('words are recognised when their audio was received', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance('who is calling please')] })
  t.match(stream.capabilities, { understandsSpeech: true, partials: true, wordTimes: true })
  hear(1100)
  t.same(log, [], 'nothing before the onset')
  stream.utteranceStart(1000)
  hear(1200)
  t.same(log, ['~who'])
  hear(1700)
  t.same(log, ['~who', '~who is'])
  hear(2500)
  stream.utteranceEnd(2100)
  t.same(log.slice(2), [
    '~who is calling',
    '~who is calling please',
    '=who is calling please|1000-1200,1300-1500,1600-1800,1900-2100',
  ])
})

t.test('an end in the middle: the received words, and the rest with the next onset', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance('one two three four'), utterance('next')] })
  stream.utteranceStart(0)
  hear(520)
  stream.utteranceEnd(500)
  t.equal(log.at(-1), '=one two|0-200,300-500')
  hear(620)
  stream.utteranceStart(600)
  hear(1200)
  t.equal(log.at(-1), '~three four')
  stream.utteranceEnd(1100)
  t.equal(log.at(-1), '=three four|600-800,900-1100')
  stream.utteranceStart(1400)
  hear(1800)
  stream.utteranceEnd(1600)
  t.equal(log.at(-1), '=next|1400-1600', 'the onset after it is the next utterance')
})

t.test('an end before the words were received takes the words that had begun', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance('one two')] })
  stream.utteranceStart(0)
  hear(300)
  stream.utteranceEnd(460)
  t.equal(log.at(-1), '=one two|0-200,300-500', 'labels and detector differ a little')
})

t.test('noise that the detector took for speech has no words and uses up its position', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance(''), utterance('hello')] })
  stream.utteranceStart(0)
  hear(400, true)
  stream.utteranceEnd(300)
  t.same(log, ['=|'])
  hear(1000)
  stream.utteranceStart(1000)
  hear(1400)
  stream.utteranceEnd(1200)
  t.equal(log.at(-1), '=hello|1000-1200')
})

t.test('noise that the detector ignored uses up its position too', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance(''), utterance('hello')] })
  hear(200)
  hear(500, true)
  hear(1000)
  stream.utteranceStart(1000)
  hear(1400, true)
  stream.utteranceEnd(1200)
  t.equal(log.at(-1), '=hello|1000-1200')
})

t.test('a click is not an utterance', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance('one two three'), utterance('next')] })
  hear(100)
  hear(140, true)
  hear(1000)
  stream.utteranceStart(1000)
  hear(2000)
  stream.utteranceEnd(1800)
  t.match(log.at(-1), /^=one two three/)
})

t.test('a speaker without further clips, and one who repeats', async (t) => {
  for (const [script, expected] of [
    [{ utterances: [utterance('a'), utterance('b')] }, ['=a', '=b', '=', '=']],
    [{ utterances: [utterance('a'), utterance('b')], repeatFrom: 1 }, ['=a', '=b', '=b', '=b']],
    [{ utterances: [] }, ['=', '=', '=', '=']],
  ] as const) {
    const { stream, log, hear } = setUp(script)
    for (let i = 0; i < 4; i++) {
      stream.utteranceStart(i * 1000)
      hear(i * 1000 + 400)
      stream.utteranceEnd(i * 1000 + 200)
    }
    t.same(
      log.filter((line) => line.startsWith('=')).map((line) => line.split('|')[0]),
      expected,
    )
  }
})

t.test('without a script it reports no words', async (t) => {
  const { stream, log, hear } = setUp(null)
  t.match(stream.capabilities, { understandsSpeech: false, partials: false })
  stream.utteranceStart(0)
  hear(1000, true)
  stream.utteranceEnd(900)
  t.same(log, ['=|'])
})

t.test('no event follows after close', async (t) => {
  const { stream, log, hear } = setUp({ utterances: [utterance('a b c')] })
  stream.utteranceStart(0)
  stream.close()
  hear(2000, true)
  stream.utteranceEnd(1000)
  stream.utteranceStart(1500)
  t.same(log, [])
})
