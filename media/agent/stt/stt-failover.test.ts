import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { EngineError } from '../../base/errors.js'
import { CircuitBreakers } from '../circuit-breaker.js'
import type { SpeechToText, SpeechToTextEvents } from '../vendor-ports.js'
import { SttFailover } from './stt-failover.js'
import type { RecogniserChoice } from './stt-stream.js'

const FRAME = new Int16Array(160)

/** A stream with the input that it received. */
interface Opened {
  readonly language: string
  readonly frames: number[]
  readonly marks: string[]
  /** Reports of whether the agent awaits a number. */
  readonly numbers: boolean[]
  readonly events: SpeechToTextEvents
  closed: boolean
}

class Recogniser implements SpeechToText {
  readonly opened: Opened[] = []
  refuses = false
  readonly id: string
  readonly #hears: ((language: string) => readonly string[]) | undefined

  constructor(id: string, hears?: (language: string) => readonly string[]) {
    this.id = id
    this.#hears = hears
  }

  open(options: Parameters<SpeechToText['open']>[0], events: SpeechToTextEvents) {
    if (this.refuses) throw new EngineError('vendor_rejected', 'scripted')
    const opened: Opened = {
      language: options.language,
      frames: [],
      marks: [],
      numbers: [],
      events,
      closed: false,
    }
    this.opened.push(opened)
    return {
      capabilities: {
        partials: true,
        endOfUtterance: false,
        wordTimes: false,
        understandsSpeech: true,
        finalDeadlineMs: 800,
        hears: this.#hears?.(options.language) ?? ['en-IN', 'hi-IN'],
      },
      write: (_pcm: Int16Array, atMs: number) => {
        opened.frames.push(atMs)
      },
      utteranceStart: (atMs: number) => {
        opened.marks.push(`start ${atMs} after ${opened.frames.at(-1)}`)
      },
      utteranceEnd: (atMs: number) => {
        opened.marks.push(`end ${atMs}`)
      },
      expectNumber: (expected: boolean) => {
        opened.numbers.push(expected)
      },
      close: () => {
        opened.closed = true
      },
    }
  }

  get last(): Opened {
    const last = this.opened.at(-1)
    if (!last) throw new Error(`${this.id} was not opened`)
    return last
  }
}

function rig(...recognisers: Recogniser[]) {
  const clock = new VirtualClock()
  const breakers = new CircuitBreakers(clock)
  const told: string[] = []
  const choice = (recogniser: SpeechToText): RecogniserChoice => ({
    recogniser,
    model: null,
    mode: 'transcribe',
    languages: null,
  })
  const ears = new SttFailover({
    languages: ['en-IN', 'hi-IN'],
    vocabulary: [],
    language: 'en-IN',
    rate: 8000,
    recognisers: recognisers.map(choice),
    breakers,
    clock,
    partial: (text) => told.push(`partial ${text}`),
    final: (text) => told.push(`final ${text}`),
    failed: ({ code }) => told.push(`failed ${code}`),
    recogniserFailed: ({ code }, vendor, instead) => told.push(`${vendor} ${code}, ${instead} goes on`),
    capabilitiesChanged: () => {},
    eagerEndOfTurn: () => {},
  })
  let nowMs = 0
  return {
    ears,
    told,
    clock,
    breakers,
    /** Writes audio of this length, frame by frame. */
    hear(ms: number) {
      for (const until = nowMs + ms; nowMs < until; nowMs += 20) {
        clock.advance(20)
        ears.write(FRAME, nowMs)
      }
    },
  }
}

const unbroken = (frames: readonly number[]) => frames.every((atMs, i) => atMs === (frames[0] ?? 0) + i * 20)

t.test('a recogniser that takes over is told of the number that the agent awaits', async (t) => {
  const [main, spare] = [new Recogniser('main'), new Recogniser('spare')]
  const { ears } = rig(main, spare)
  ears.open()
  ears.expectNumber(true)
  t.same(main.last.numbers, [true])
  main.last.events.failed(new EngineError('vendor_rejected', 'scripted'))
  t.same(spare.last.numbers, [true])
  ears.expectNumber(false)
  t.same(spare.last.numbers, [true, false])
  t.same(main.last.numbers, [true], 'the lost one is told nothing')
  ears.close()
})

t.test('a recogniser fails during an utterance: the next one receives it from its start', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, told, hear } = rig(main, second)
  t.equal(ears.open(), null)
  hear(2000)
  ears.utteranceStart(1900)
  hear(500)
  main.last.events.failed(new EngineError('vendor_failed', 'scripted'))
  t.same(told, ['main vendor_failed, second goes on'])
  t.ok(main.last.closed)
  hear(500)
  ears.utteranceEnd(2900)
  const { frames, marks } = second.last
  t.equal(frames[0], 1600, 'with what was before the onset')
  t.ok(unbroken(frames) && frames.at(-1) === 2980, 'nothing twice, nothing missing')
  t.same(marks, ['start 1900 after 1980', 'end 2900'], 'told when a detector would have told')
  second.last.events.final('heard', null)
  main.last.events.final('too late', null)
  t.same(ears.takeAudioUsage(), [
    { vendor: 'main', model: null, ms: 2500 },
    { vendor: 'second', model: null, ms: 1400 },
  ])
  t.same(ears.takeAudioUsage(), [], 'counted once')
  t.same(told.slice(1), ['final heard'])
})

t.test('a late recogniser is hedged: the first one to answer stays', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, told, hear, clock } = rig(main, second)
  ears.open()
  hear(1000)
  ears.utteranceStart(500)
  ears.utteranceEnd(900)
  clock.advance(399)
  t.equal(second.opened.length, 0, 'in time until half of its deadline')
  clock.advance(1)
  t.same(second.last.marks, ['start 500 after 580', 'end 900'])
  second.last.events.partial('not its turn')
  main.last.events.final('late', null)
  t.same(told, ['final late'])
  t.ok(second.last.closed && !main.last.closed)

  ears.utteranceStart(1000)
  ears.utteranceEnd(1100)
  clock.advance(800)
  second.last.events.final('sooner', null)
  t.same(told.slice(1), ['main vendor_stalled, second goes on', 'final sooner'])
  t.ok(main.last.closed)
  t.equal(ears.capabilities.finalDeadlineMs, 400 + 700, 'the first one may help out in its turn')
})

t.test('a cough without words changes nothing', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, told, hear, clock } = rig(main, second)
  ears.open()
  hear(1000)
  ears.utteranceStart(500)
  ears.utteranceEnd(900)
  clock.advance(800)
  second.last.events.final('', null)
  t.ok(second.last.closed && !main.last.closed)
  t.same(told, [])
  clock.advance(5000)
  t.equal(second.opened.length, 1, 'asked once')
})

t.test('a final during speech is complete unless more words follow', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, hear, clock } = rig(main, second)
  ears.open()
  hear(1000)
  ears.utteranceStart(500)
  main.last.events.final('all', null)
  ears.utteranceEnd(900)
  clock.advance(2000)
  t.equal(second.opened.length, 0, 'nobody is asked about the rest of the sound')
  ears.utteranceStart(1000)
  main.last.events.final('some', null)
  main.last.events.partial('and more')
  ears.utteranceEnd(1500)
  clock.advance(800)
  t.equal(second.opened.length, 1)
})

t.test('a fallback receives the last four seconds of a long utterance', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, hear } = rig(main, second)
  ears.open()
  hear(1000)
  ears.utteranceStart(500)
  hear(9000)
  main.last.events.failed(new EngineError('vendor_failed', 'scripted'))
  t.equal(second.last.frames.length, 200)
  t.ok(unbroken(second.last.frames))
})

t.test('when all fail, the failure is reported and the first one is reopened', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  second.refuses = true
  const { ears, told, hear, clock } = rig(main, second)
  ears.open()
  hear(200)
  main.last.events.failed(new EngineError('vendor_unreachable', 'scripted'))
  t.same(told, ['failed vendor_unreachable'])
  ears.reopen()
  clock.advance(250)
  t.equal(main.opened.length, 2)
  t.notOk(main.last.closed)
  ears.close()
  main.last.events.final('after the end', null)
  t.same(told.length, 1)
  t.equal(clock.pending, 0)
})

t.test('a recogniser that cannot be opened is skipped', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  main.refuses = true
  const { ears, told } = rig(main, second)
  t.equal(ears.open(), null)
  t.same(told, ['main vendor_rejected, second goes on'])
  second.refuses = true
  t.match(rig(main, second).ears.open(), { code: 'vendor_rejected' })
})

t.test('a recogniser with an open circuit is skipped', async (t) => {
  const main = new Recogniser('main')
  const second = new Recogniser('second')
  const { ears, told, breakers } = rig(main, second)
  for (let i = 0; i < 3; i++) breakers.failed('speech_to_text main ', false)
  ears.open()
  t.equal(main.opened.length, 0)
  t.same(told, ['main vendor_unreachable, second goes on'])
})

t.test('a language change during an utterance: the new stream receives all of it', async (t) => {
  const main = new Recogniser('main', (language) => [language])
  const { ears, told, hear } = rig(main)
  ears.open()
  hear(1000)
  ears.utteranceStart(900)
  hear(300)
  ears.setLanguage('hi-IN')
  t.equal(main.opened.length, 2)
  t.ok(main.opened[0]?.closed)
  hear(200)
  t.equal(main.last.language, 'hi-IN')
  t.equal(main.last.frames[0], 600)
  t.ok(unbroken(main.last.frames))
  t.same(main.last.marks, ['start 900 after 980'])
  ears.setLanguage('hi-IN')
  t.equal(main.opened.length, 2)
  t.same(told, [])
})
