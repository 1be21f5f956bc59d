import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { settle } from '../../../fixtures/host/settle.js'
import { Scope } from '../../base/scope.js'
import { CircuitBreakers } from '../circuit-breaker.js'
import type { SpeakEvents, SpeakRequest, TextToSpeech } from '../vendor-ports.js'
import { Speaker } from './speaker.js'
import { Synthesiser } from './synthesis.js'

const RATE = 8000
const FRAME = 160
/** Length of every sentence. */
const SENTENCE_MS = 4000

class Rig {
  readonly requests: SpeakRequest[] = []
  readonly open: SpeakEvents[] = []
  readonly speaker: Speaker
  readonly call = new Scope()
  #atMs = 0

  constructor(followsAtOnce: boolean) {
    const clock = new VirtualClock()
    const tts: TextToSpeech = {
      id: 'main',
      firstAudioDeadlineMs: 1000,
      followsAtOnce,
      speak: (request, events) => {
        this.requests.push(request)
        this.open.push(events)
        return { cancel: () => {} }
      },
    }
    const synthesiser = new Synthesiser({
      voices: [{ tts, voice: 'v', model: null, pace: 1 }],
      rate: RATE,
      call: this.call,
      clock,
      breakers: new CircuitBreakers(clock),
      onFailure: () => {},
    })
    this.speaker = new Speaker(RATE, synthesiser, {
      requested: () => {},
      firstAudio: () => {},
      synthesisLost: () => {},
    })
  }

  say(turn: number, ...texts: string[]): void {
    for (const text of texts) this.speaker.say(turn, { text, written: null, language: 'en-IN' })
  }

  /** The vendor speaks the sentence in progress to its end. */
  async spoken(): Promise<void> {
    await settle()
    const events = this.open.shift()
    const { text = '' } = this.requests.at(-1) ?? {}
    const perLetter = SENTENCE_MS / text.length
    for (const { 0: word, index } of text.matchAll(/\S+/g))
      events?.word(index, word.length, index * perLetter)
    events?.audio(new Int16Array((SENTENCE_MS * RATE) / 1000).fill(1000), RATE)
    events?.done()
    await settle()
  }

  play(ms: number): void {
    const into = new Int16Array(FRAME)
    for (const until = this.#atMs + ms; this.#atMs < until; this.#atMs += 20)
      this.speaker.pull(into, this.#atMs)
  }

  get replies(): readonly (Scope | undefined)[] {
    return this.requests.map(({ reply }) => reply)
  }
}

t.test('the sentences of an utterance are one reply, which ends when the last one was sent', async (t) => {
  const rig = new Rig(false)
  rig.say(1, 'One two three.', 'Four five six.')
  await rig.spoken()
  t.equal(rig.requests.length, 1, 'the second sentence waits until the first one plays')
  rig.play(20)
  await settle()
  const [reply] = rig.replies
  t.equal(rig.replies[1], reply)
  t.equal(reply?.closed, false, 'more may follow')
  rig.speaker.finish(1)
  await settle()
  t.equal(reply?.closed, true)
  t.equal(rig.requests[0]?.call, rig.call)
  rig.speaker.stop(1)
  rig.say(2, 'Another.')
  await settle()
  t.not(rig.replies[2], reply, 'the next utterance is another reply')
})

t.test('the last sentence is sent before its reply ends', async (t) => {
  const rig = new Rig(false)
  rig.say(1, 'One.')
  rig.speaker.finish(1)
  t.equal(rig.requests.length, 0)
  let closedAtRequest = true
  const { requests } = rig
  requests.push = (...items) => {
    closedAtRequest = items[0]?.reply?.closed ?? true
    return Array.prototype.push.apply(requests, items)
  }
  await settle()
  t.equal(requests.length, 1)
  t.equal(closedAtRequest, false)
  t.equal(requests[0]?.reply?.closed, true)
})

for (const how of ['stop', 'close', 'another utterance'] as const) {
  t.test(`a cut ends the reply: ${how}`, async (t) => {
    const rig = new Rig(false)
    rig.say(1, 'One two three.')
    await settle()
    const [reply] = rig.replies
    if (how === 'stop') rig.speaker.stop(1)
    else if (how === 'close') rig.speaker.close()
    else rig.say(2, 'Else.')
    t.equal(reply?.closed, true)
  })
}

t.test(
  'a voice that follows at once gets sentences early, but not more than ten seconds of them',
  async (t) => {
    const rig = new Rig(true)
    rig.say(1, 'One two.', 'Three four.', 'Five six.', 'Seven eight.', 'Nine ten.')
    for (let n = 0; n < 3; n++) await rig.spoken()
    t.equal(rig.requests.length, 3, '12 s are waiting')
    rig.play(1980)
    await settle()
    t.equal(rig.requests.length, 3)
    rig.play(60)
    await settle()
    t.equal(rig.requests.length, 4)
    rig.play(4300)
    const heard = rig.speaker.stop(1)
    t.equal(heard?.heard, 'One two. Three', 'what was synthesised ahead was not heard')
    t.equal(heard?.text, 'One two. Three four. Five six. Seven eight. Nine ten.')
  },
)

t.test('what was synthesised ahead is dropped at the end of a clause', async (t) => {
  const rig = new Rig(true)
  rig.say(1, 'One two.', 'Three four.', 'Five six.')
  for (let n = 0; n < 3; n++) await rig.spoken()
  rig.play(1000)
  rig.speaker.stopAtClause(1)
  rig.play(20_000)
  const heard = rig.speaker.stop(1)
  t.equal(heard?.heard, 'One two.')
  t.equal(heard?.endMs, 4000)
})
