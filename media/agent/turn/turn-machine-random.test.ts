import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { TEST_POLICY as POLICY } from '../../../fixtures/turns/policy.js'
import type { Timer } from '../../base/clock.js'
import { plainWords } from '../language/plain-words.js'
import { join } from './step-draft.js'
import { initialTurnState, step } from './turn-machine.js'
import type { TurnPolicy } from './turn-policy.js'
import { CALL, type TimerName, type TurnEffect, type TurnInput } from './turn-types.js'

/** A reproducible sequence of numbers in [0, 1). */
function numbers(seed: number): () => number {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let x = Math.imul(a ^ (a >>> 15), 1 | a)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * Runs the effects against vendors and a caller that behave at random: late, silent or failing vendors;
 * speech, coughs and keys of the caller. Throws when a rule of turn-taking is violated.
 */
/** Phrases that are prepared when the call begins. */
const PREPARED: ReadonlySet<unknown> = new Set(['failure', 'wait', 'goodbye'])

class RandomCall {
  readonly clock = new VirtualClock()
  readonly random: () => number
  readonly policy: TurnPolicy
  readonly timers = new Map<string, Timer>()
  state = initialTurnState
  readonly log: string[] = []
  finished = 0
  learned = 0
  waitedForTools = 0
  kept = 0
  thrownAway = 0
  askedAgain = 0
  #stopped = false
  #queue: TurnInput[] = []
  #busy = false
  /** The utterance in playout. */
  #voice: {
    turn: number
    pendingMs: number
    sentMs: number
    finished: boolean
    started: boolean
    sounding: boolean
    synthesising: number
  } | null = null
  #paused = false
  #model: { turn: number; timer: Timer } | null = null
  /** The speculative request, and the caller's turns that had one. */
  #early: { readonly words: string; readonly caller: number } | null = null
  #tried = new Map<number, readonly string[]>()
  #others = new Set<Timer>()
  #speaking: { fromMs: number; untilMs: number; told: boolean; text: string } | null = null
  #vad = { speaking: false, onsetMs: 0, lastMs: 0 }
  #silentMs = 0
  /** How long the caller has been considered to be speaking (ms). */
  #soundMs = 0
  #committed = new Set<number>()

  constructor(seed: number) {
    this.random = numbers(seed)
    this.policy = {
      ...POLICY,
      maxCallMs: 20_000 + this.random() * 60_000,
      hangupLine: this.random() < 0.5,
      understandsSpeech: this.random() < 0.9,
      openness: () => (this.random() < 0.15 ? 'open' : this.random() < 0.05 ? 'spelling' : 'closed'),
      nudgesMs: this.random() < 0.7 ? [4000, 5000] : [],
      speculates: this.random() < 0.8,
      optOut:
        this.random() < 0.1
          ? { asks: (text) => text === 'no', key: '5', awaitsVerdict: this.random() < 0.5 }
          : null,
    }
  }

  get now(): number {
    return this.clock.now()
  }

  run(): void {
    this.feed({ type: 'start', opening: this.random() < 0.6, atMs: 0 })
    const hangUpAt = this.random() < 0.3 ? this.random() * 40_000 : Number.POSITIVE_INFINITY
    while (!this.#stopped) {
      if (this.now > 200_000) throw new Error('the call does not end')
      if (this.now >= hangUpAt) this.feed({ type: 'close', atMs: this.now })
      else this.#beat()
    }
    // The conversation cancels the vendors' timers with their jobs.
    for (const timer of this.#others) timer.cancel()
    if (this.timers.size > 0 || this.clock.pending > 0) throw new Error('timers left after the end')
  }

  feed(input: TurnInput): void {
    this.#queue.push(input)
    if (this.#busy) return
    this.#busy = true
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const before = this.state.phase
      const result = step(this.state, next, this.policy)
      this.state = result.next
      const name = 'name' in next ? `:${next.name}` : ''
      // Inputs that prove that the caller is present.
      if (next.type === 'digit' || name === ':digits' || ('text' in next && next.text !== ''))
        this.#soundMs = 0
      if (next.type !== 'voice' && next.type !== 'token')
        this.log.push(`${Math.round(next.atMs)} ${before} <- ${next.type}${name} -> ${this.state.phase}`)
      for (const effect of result.effects) this.#effect(effect)
      this.#check()
    }
    this.#busy = false
  }

  /**
   * Checks that every timer belongs to the call or a live turn, and that playout is paused only by the
   * machine.
   */
  #check(): void {
    const { caller, reply, phase } = this.state
    const live = new Set([CALL, caller?.id, reply?.id])
    for (const key of this.timers.keys()) {
      if (!live.has(Number(key.split(':')[0]))) throw new Error(`timer ${key} has no owner in ${phase}`)
    }
    if (this.#paused !== (phase === 'paused')) throw new Error(`paused ${this.#paused} in ${phase}`)
    if (this.#voice && this.#voice.turn !== reply?.id) throw new Error('an utterance without a reply')
    if (this.#model && this.#model.turn !== reply?.id) throw new Error('a model job without a reply')
    if (this.#early) {
      if (reply || caller?.id !== this.#early.caller) throw new Error(`asked early in ${phase}`)
      if (phase !== 'waitingFinal' && phase !== 'callerSpeaking') throw new Error(`asked early in ${phase}`)
      if (this.state.digits !== '') throw new Error('asked early for keys')
      const now = plainWords(join(caller.text, caller.partial)).join(' ')
      if (now !== this.#early.words) throw new Error(`asked for "${this.#early.words}", heard "${now}"`)
    }
    if (phase === 'thinking' || phase === 'speaking' || phase === 'paused') {
      if (!reply) throw new Error(`${phase} without a reply`)
    }
  }

  #beat(): void {
    const from = this.now
    this.clock.advance(20)
    if (this.#stopped) return
    this.#caller()
    const voice = this.#voice
    let sound = false
    if (voice && !this.#paused) {
      const take = Math.min(20, voice.pendingMs)
      if (take > 0) {
        sound = true
        voice.pendingMs -= take
        voice.sentMs += take
        if (!voice.started) {
          voice.started = true
          this.feed({ type: 'firstSample', turn: voice.turn, atMs: this.now })
        }
      }
      if (this.#voice === voice && voice.started && voice.sounding !== sound && !voice.finished) {
        voice.sounding = sound
        this.feed({ type: 'audioFlow', turn: voice.turn, flowing: sound, atMs: this.now })
      }
      if (this.#voice === voice && voice.finished && voice.pendingMs === 0 && voice.synthesising === 0) {
        this.#voice = voice
        this.feed({ type: 'drained', turn: voice.turn, atMs: this.now })
      }
    }
    // Silence counts only during the agent's turn.
    const agentsFloor = ['waitingFinal', 'thinking', 'speaking', 'ending'].includes(this.state.phase)
    this.#silentMs = sound || !agentsFloor || this.#vad.speaking ? 0 : this.#silentMs + (this.now - from)
    if (this.#silentMs > 3000) throw new Error(`dead air in ${this.state.phase}`)
    this.#soundMs = this.state.phase === 'callerSpeaking' ? this.#soundMs + (this.now - from) : 0
    if (this.#soundMs > this.policy.wordlessMs + 3000) throw new Error('noise keeps the agent silent')
  }

  #caller(): void {
    const at = this.now
    if (!this.#speaking && this.random() < 0.006) {
      const dice = this.random()
      const cough = dice < 0.3
      const noise = dice > 0.95
      const ms = cough
        ? 150 + this.random() * 200
        : noise
          ? 1000 + this.random() * 30_000
          : 300 + this.random() * 2500
      const words = ['mm-hmm', 'wait please', 'tell me the price', 'haan', 'no']
      const text = cough || noise ? '' : (words[Math.floor(this.random() * words.length)] ?? '')
      this.#speaking = { fromMs: at, untilMs: at + ms, told: false, text }
    }
    if (this.random() < 0.0008) {
      // A key restarts the wait.
      this.#silentMs = 0
      this.feed({ type: 'digit', digit: this.random() < 0.3 ? '#' : '5', atMs: at })
    }
    const { phase } = this.state
    if (this.random() < 0.0005) {
      // An announcement restarts the wait, like a key.
      this.#silentMs = 0
      this.feed({ type: 'say', text: 'Wait.', last: this.random() < 0.1, atMs: at })
    }
    if (phase === 'away' && this.random() < 0.02) this.feed({ type: 'return', atMs: at })
    else if (phase !== 'away' && this.random() < 0.0004) this.feed({ type: 'leave', atMs: at })
    if (this.random() < 0.001) this.feed({ type: 'contextChanged', atMs: at })
    if (this.random() < 0.0001) this.feed({ type: 'optOut', atMs: at })
    if (this.random() < 0.001) {
      const by = this.random() < 0.7 ? 'human' : this.random() < 0.5 ? 'unknown' : 'screening'
      this.feed({ type: 'answeredBy', by, atMs: at })
    }
    if (this.random() < 0.0004)
      this.feed({ type: 'recognitionFailed', code: 'vendor_failed', message: 'x', atMs: at })
    const speech = this.#speaking
    const vad = this.#vad
    if (speech && at >= speech.untilMs) this.#speaking = null
    if (speech) vad.lastMs = Math.min(at, speech.untilMs)
    if (speech && !vad.speaking && at - speech.fromMs >= 60) {
      vad.speaking = true
      vad.onsetMs = speech.fromMs
      this.feed({ type: 'onset', fromMs: speech.fromMs, atMs: at })
      const { text } = speech
      if (text !== '' && this.random() < 0.5) {
        const heard = this.random() < 0.3 ? (text.split(' ')[0] ?? text) : text
        this.#later(200 + this.random() * 300, () => {
          this.feed({ type: 'partial', text: heard, atMs: this.now })
          if (this.random() < 0.3)
            this.feed({ type: 'eagerEndOfTurn', complete: this.random() < 0.8, atMs: this.now })
        })
      }
    } else if (vad.speaking && at - vad.lastMs >= 200 && at - vad.lastMs < 220) {
      const lastVoicedMs = vad.lastMs
      const likely = this.random()
      this.#later(this.random() * 1200, () =>
        this.feed({ type: 'turnEstimate', lastVoicedMs, probability: likely, atMs: this.now }),
      )
    } else if (vad.speaking && at - vad.lastMs >= 300) {
      vad.speaking = false
      this.feed({ type: 'offset', lastVoicedMs: vad.lastMs, atMs: at })
      const text = this.#lastText
      if (this.policy.understandsSpeech && this.random() < 0.9) {
        const late = this.random() < 0.15
        this.#later(late ? 500 + this.random() * 2000 : 50 + this.random() * 300, () =>
          this.feed({ type: 'final', text, words: null, atMs: this.now }),
        )
      }
    }
    if (speech) this.#lastText = speech.text
    if (this.state.phase === 'paused') {
      this.feed({ type: 'voice', voicedMs: vad.lastMs - vad.onsetMs, quietMs: at - vad.lastMs, atMs: at })
    }
  }
  #lastText = ''

  #later(ms: number, run: () => void): Timer {
    const timer = this.clock.after(ms, () => {
      this.#others.delete(timer)
      if (!this.#stopped) run()
    })
    this.#others.add(timer)
    return timer
  }

  #effect(effect: TurnEffect): void {
    switch (effect.type) {
      case 'startTimer': {
        const key = `${effect.turn}:${effect.name}`
        this.timers.get(key)?.cancel()
        this.timers.set(
          key,
          this.clock.after(effect.ms, () => {
            this.timers.delete(key)
            this.feed({ type: 'timer', turn: effect.turn, name: effect.name as TimerName, atMs: this.now })
          }),
        )
        return
      }
      case 'cancelTimer':
        this.#cancel(`${effect.turn}:${effect.name}`)
        return
      case 'cancelTimers':
        for (const key of [...this.timers.keys()]) if (key.startsWith(`${effect.turn}:`)) this.#cancel(key)
        return
      case 'pause':
        if (this.#paused) throw new Error('paused twice')
        this.#paused = true
        return
      case 'resume':
        if (!this.#paused) throw new Error('resumed without a pause')
        this.#paused = false
        return
      case 'interrupt':
      case 'stopSpeech':
      case 'commitAgent':
        if (this.#voice?.turn !== effect.turn || !this.#voice.started)
          throw new Error(`${effect.type}: nothing was heard`)
        if (this.#committed.has(effect.turn)) throw new Error('committed twice')
        this.#committed.add(effect.turn)
        if (effect.type === 'commitAgent' && this.#voice.pendingMs > 0)
          throw new Error('unheard text committed')
        this.#end()
        return
      case 'dropReply':
        if (this.#voice?.started) throw new Error('heard words dropped')
        this.#end()
        return
      case 'ask':
        if (this.#model) this.#model.timer.cancel()
        this.#ask(effect.turn)
        return
      case 'speculate': {
        const { id, text } = effect.caller
        if (this.#early) throw new Error('asked early twice at once')
        const words = plainWords(text).join(' ')
        const tried = this.#tried.get(id) ?? []
        if (tried.length > 1) throw new Error('asked early three times for one turn')
        if (tried.includes(words)) throw new Error('asked early twice for the same words')
        this.#tried.set(id, [...tried, words])
        if (tried.length > 0) this.askedAgain++
        const early = { caller: id, words }
        this.#early = early
        if (this.random() < 0.05) {
          this.#later(this.random() * 400, () => {
            if (this.#early === early) this.feed({ type: 'speculationFailed', atMs: this.now })
          })
        }
        return
      }
      case 'dropSpeculation':
        if (!this.#early) throw new Error('nothing was asked early')
        this.#early = null
        this.thrownAway++
        return
      case 'keepSpeculation': {
        const words = plainWords(effect.caller.text).join(' ')
        if (this.#early?.words !== words) throw new Error(`kept an answer to other words: ${words}`)
        this.#early = null
        this.kept++
        this.#ask(effect.turn)
        return
      }
      case 'cancelModel':
        this.#model?.timer.cancel()
        this.#model = null
        return
      case 'sayPhrase':
        this.#synthesise(effect.turn, PREPARED.has(effect.phrase))
        return
      case 'stopAtClause': {
        const voice = this.#utterance(effect.turn)
        voice.finished = true
        voice.synthesising = 0
        voice.pendingMs = Math.min(voice.pendingMs, this.random() * 4000)
        return
      }
      case 'finishSpeech':
        this.#utterance(effect.turn).finished = true
        return
      case 'commitCaller':
        if (effect.caller.text === '') throw new Error('an empty turn')
        if (this.#committed.has(effect.caller.id)) throw new Error('a caller turn committed twice')
        this.#committed.add(effect.caller.id)
        return
      case 'learnNoise':
        this.learned++
        this.#speaking = null
        // Another noise may begin at once.
        this.#soundMs = 0
        return
      case 'finish':
        this.finished++
        return
      case 'stop':
        for (const key of [...this.timers.keys()]) this.#cancel(key)
        this.#end()
        this.#stopped = true
        return
      default:
        return
    }
  }

  #cancel(key: string): void {
    this.timers.get(key)?.cancel()
    this.timers.delete(key)
  }

  #end(): void {
    this.#model?.timer.cancel()
    this.#model = null
    this.#voice = null
    this.#paused = false
  }

  #utterance(turn: number) {
    if (this.#voice && this.#voice.turn !== turn) throw new Error('two utterances at once')
    this.#voice ??= {
      turn,
      pendingMs: 0,
      sentMs: 0,
      finished: false,
      started: false,
      sounding: true,
      synthesising: 0,
    }
    return this.#voice
  }

  /** Synthesis has its own deadlines (synthesis.ts): it delivers within 700 ms or not at all. */
  #synthesise(turn: number, prepared = false): void {
    const voice = this.#utterance(turn)
    voice.synthesising++
    const gone = this.random() < 0.01
    this.#later(prepared ? 0 : 50 + this.random() * 650, () => {
      if (this.#voice !== voice) return
      voice.synthesising--
      if (gone) this.feed({ type: 'synthesisFailed', turn, atMs: this.now })
      else voice.pendingMs += 400 + this.random() * 2500
    })
  }

  /** Runs tools, with or without a filler of their own. */
  #tools(turn: number): void {
    const bridged = this.random() < 0.4
    const job = {
      turn,
      timer: this.#later(this.random() < 0.5 ? 300 : this.random() * 12_000, () => {
        if (this.#model !== job) return
        this.#model = null
        this.feed({ type: 'modelDone', turn, next: 'again', atMs: this.now })
      }),
    }
    this.#model = job
    this.waitedForTools++
    this.feed({ type: 'toolsRun', turn, fillerSpoken: bridged, atMs: this.now })
    if (bridged && this.#model === job) this.#synthesise(turn)
  }

  #ask(turn: number): void {
    const dice = this.random()
    const first = dice < 0.08 ? 1e9 : 50 + this.random() * 800
    const sentences = dice < 0.12 ? 0 : 1 + Math.floor(this.random() * 4)
    const fails = this.random() < 0.1
    const outcome = this.random() < 0.06 ? 'end' : this.random() < 0.15 ? 'again' : 'nothing'
    const stalls = this.random() < 0.05
    let left = sentences
    const job = { turn, timer: this.#later(first, () => next()) }
    const next = () => {
      if (this.#model !== job) return
      this.feed({ type: 'token', turn, atMs: this.now })
      if (this.#model !== job) return
      if (left > 0) {
        left--
        this.feed({ type: 'sentence', turn, atMs: this.now })
        this.#synthesise(turn)
        job.timer = this.#later(stalls ? 1e9 : 20 + this.random() * 300, next)
        return
      }
      this.#model = null
      if (!fails && outcome === 'again' && this.random() < 0.7) {
        this.#tools(turn)
        return
      }
      this.feed(
        fails
          ? { type: 'modelFailed', turn, code: 'vendor_failed', message: 'x', atMs: this.now }
          : { type: 'modelDone', turn, next: outcome, atMs: this.now },
      )
    }
    this.#model = job
  }
}

t.test('thousands of random calls violate no rule', async (t) => {
  const phases = new Map<string, number>()
  let learned = 0
  let waitedForTools = 0
  let kept = 0
  let thrownAway = 0
  let askedAgain = 0
  const CALLS = 4000
  for (let seed = 1; seed <= CALLS; seed++) {
    const call = new RandomCall(seed)
    try {
      call.run()
    } catch (error) {
      t.fail(`seed ${seed} at ${call.now}: ${error}\n${call.log.slice(-25).join('\n')}`)
      return
    }
    learned += call.learned
    waitedForTools += call.waitedForTools
    kept += call.kept
    thrownAway += call.thrownAway
    askedAgain += call.askedAgain
    for (const line of call.log) {
      const phase = line.split(' ')[1] ?? ''
      phases.set(phase, (phases.get(phase) ?? 0) + 1)
    }
  }
  t.ok(waitedForTools > CALLS / 5, `tools were waited for ${waitedForTools} times`)
  t.ok(kept > CALLS / 2, `${kept} early answers were kept`)
  t.ok(thrownAway > CALLS / 10, `${thrownAway} were thrown away`)
  t.ok(askedAgain > CALLS / 100, `${askedAgain} turns had a second early question`)
  t.ok(learned > CALLS / 100, `noise was learned ${learned} times`)
  for (const phase of [
    'listening',
    'callerSpeaking',
    'waitingFinal',
    'thinking',
    'speaking',
    'paused',
    'ending',
  ]) {
    t.ok((phases.get(phase) ?? 0) > CALLS / 4, `${phase} was visited ${phases.get(phase)} times`)
  }
})
