import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { EngineError } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import type { RoutingMode } from '../../media/session/routing.js'
import {
  CALLER_LEG,
  type LegId,
  type LegRequest,
  type MediaPool,
  type RemoteMedia,
} from '../../workers/channel/protocol.js'
import type { TransferEvent } from './call-events.js'
import { CallTransfers } from './call-transfer.js'
import type { Ending } from './ending.js'
import type { LegEvents } from './leg.js'
import type { LegClearance, TransferPlan } from './ports.js'
import { MAX_ATTEMPTS, type TransferMode } from './transfer-machine.js'

/*
 * Transfers of one call on a virtual clock, against persons, carriers, a media worker and a caller that behave at random:
 * late, refusing, hanging up, putting on hold, or dying.
 */

const CALLS = 100
const STEP_MS = 200
const CALL_MS = 180_000
/** Longest time in which nobody hears anybody. */
const SILENCE_MS = 3_000
/** Longest time from the end of an attempt to the agent or the next attempt: the bound of a leg that closes, and a margin. */
const BACK_MS = 6_000
const MODES: readonly TransferMode[] = ['blind', 'screened', 'consult']
const REMOTE: RemoteMedia = {
  ...{ address: '192.0.2.1', port: 4000, codec: 'PCMA', payloadType: 8, dtmfPayloadType: 101 },
  ...{ send: true, receive: true },
}
const ENDED = new Set(['completed', 'missed', 'declined', 'failed', 'canceled'])
const BUSY: Ending = { by: 'callee', cause: 'busy', fault: 'none', sip: 486 }
const CARRIER: Ending = { by: 'callee', cause: 'carrier_error', fault: 'carrier', sip: 503 }
const HANGS_UP: Ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' }

function numbers(seed: number): () => number {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let x = Math.imul(a ^ (a >>> 15), 1 | a)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

class RandomTransfers {
  readonly clock = new VirtualClock()
  readonly events: (TransferEvent & { readonly atMs: number })[] = []
  readonly refused: string[] = []
  kept = 0
  /** Why the call ended. */
  ending: string | null = null
  dialled = 0
  readonly #random: () => number
  readonly #transfers: CallTransfers
  #released = 0
  /** Rights to dial that were given, and that were given back. */
  #granted = 0
  #returned = 0
  #mode: RoutingMode = 'agent'
  #persons: readonly LegId[] = []
  /** Legs with a dialog. */
  readonly #open = new Map<LegId, LegEvents>()
  readonly #answered = new Set<LegId>()
  readonly #listened = new Set<LegId>()
  #cut: (() => void) | null = null
  #dead = false
  #silentMs = 0
  #agentLeft = false
  #closing: Promise<void> | null = null

  constructor(seed: number) {
    this.#random = numbers(seed)
    const { clock } = this
    const pool = { request: (request: LegRequest) => this.#request(request) } as unknown as MediaPool
    this.#transfers = new CallTransfers(
      {
        ...{ clock, pool, log: silentLog },
        dialLeg: (_callId, _clearance, events) => this.#dial(events),
      },
      {
        callId: 'call_1',
        publish: (event) => {
          if (event.type === 'transfer') this.events.push({ ...event, atMs: clock.now() })
          else this.kept++
        },
        agentReleased: () => {
          this.#agentLeft = true
        },
        finish: ({ cause }) => this.#end(cause, 'other'),
      },
    )
  }

  /** Runs a whole call. */
  async run(): Promise<void> {
    const hangsUpAt = this.#random() < 0.5 ? this.#random() * CALL_MS : CALL_MS
    const diesAt = this.#random() < 0.15 ? this.#random() * CALL_MS : Number.POSITIVE_INFINITY
    while (this.#closing === null && this.clock.now() < CALL_MS) {
      const now = this.clock.now()
      if (this.#chance(0.04)) this.#ask()
      if (this.#chance(0.04)) this.#speak()
      if (now >= diesAt) {
        this.#dead = true
        this.#end('internal', 'other')
      } else if (now >= hangsUpAt) this.#end('caller_hangup', 'caller')
      await this.#step()
    }
    if (this.#closing === null) this.#end('api_hangup', 'other')
    for (let i = 0; i < 200 && !(await this.#isClosed()); i++) await this.#step()
    if (!(await this.#isClosed())) throw new Error('a leg survives the call')
    if (this.#open.size > 0) throw new Error('a dialog survives the call')
    if (this.#released !== this.dialled)
      throw new Error(`${this.dialled} dialled, ${this.#released} given back`)
    // Rights may arrive after the end.
    for (let i = 0; i < 10; i++) await this.#step()
    if (this.#returned !== this.#granted)
      throw new Error(`${this.#granted} rights to dial, ${this.#returned} given back`)
    this.#checkAttempts()
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }

  #between(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from))
  }

  async #step(): Promise<void> {
    this.clock.advance(STEP_MS)
    for (let i = 0; i < 12; i++) await Promise.resolve()
    this.#checkVoices()
  }

  async #isClosed(): Promise<boolean> {
    let isClosed = false
    void this.#closing?.then(() => {
      isClosed = true
    })
    for (let i = 0; i < 6; i++) await Promise.resolve()
    return isClosed
  }

  #end(cause: string, by: 'caller' | 'other'): void {
    if (this.#closing !== null) return
    this.ending = cause
    this.#closing = this.#transfers.end(by)
  }

  #ask(): void {
    const refusal = this.#transfers.request(this.#plan())
    if (refusal !== null) this.refused.push(refusal)
  }

  /** Somebody to whom we listen says something. */
  #speak(): void {
    const legs = [...this.#listened]
    const leg = legs[this.#between(0, legs.length)]
    if (leg === undefined) return
    const words =
      leg === CALLER_LEG ? ['Hello?', 'Never mind.'] : ['Yes, please.', 'No.', 'Who is calling?', 'Hello?']
    const text = words[this.#between(0, words.length)] ?? ''
    const atMs = this.clock.now()
    this.#transfers.heard({
      ...{ type: 'heard', leg, text, language: 'en-IN', words: null },
      ...{ startMs: atMs - 800, endMs: atMs - 200, atMs },
    })
  }

  #plan(): TransferPlan {
    const mode = MODES[this.#between(0, MODES.length)] ?? 'blind'
    const keep = this.#chance(0.5)
    return {
      mode,
      destination: 'first',
      fallback: this.#chance(0.5) ? 'second' : null,
      ringTimeoutMs: this.#between(10_000, 30_000),
      announcement: this.#chance(0.5) ? 'One moment.' : null,
      waitLine: 'Please stay on the line.',
      missLine: 'Nobody is there.',
      returnLine: 'I am back.',
      report: ({ attempts }) => attempts.map(({ outcome }) => outcome).join(),
      listening: this.#chance(0.2)
        ? null
        : {
            caller: ['en-IN'],
            keep,
            person: () => ['en-IN'],
            answer: () => this.#later(this.#chance(0.7) ? 'An answer.' : null, 3_000),
          },
      describe: () => ({}),
      brief: () => ({ text: 'A caller.', keys: 'Press 1.' }),
      recordTo: () => ({ human: 'human.wav', back: 'back.wav' }),
      clear: async () => {
        await this.#later(null, 500)
        if (this.#chance(0.05)) throw new EngineError('storage_failed', 'the database is gone')
        if (!this.#chance(0.9)) return null
        this.#granted++
        const release = () => {
          this.#returned++
        }
        return { gateway: {}, release } as LegClearance
      },
    }
  }

  #later<T>(value: T, ms: number): Promise<T> {
    return new Promise((resolve) => this.clock.after(this.#between(0, ms), () => resolve(value)))
  }

  async #request(request: LegRequest): Promise<unknown> {
    await this.#later(null, 30)
    if (this.#dead) throw new EngineError('worker_lost', 'the worker died')
    switch (request.type) {
      case 'route':
        this.#mode = request.mode
        this.#persons = request.persons
        if (request.mode === 'bridge' || request.mode === 'agent') this.#cut?.()
        return null
      case 'say':
        this.#cut?.()
        return await new Promise((said) => {
          this.#cut = () => said('cut')
          this.clock.after(this.#between(300, 6_000), () => said('said'))
        })
      case 'collect': {
        const pressed = this.#chance(0.6) ? ['1', '1', '2', '7'][this.#between(0, 4)] : undefined
        const ms = this.#between(500, pressed === undefined ? request.options.timeoutMs : 20_000)
        await this.#later(null, ms)
        return pressed === undefined
          ? { digits: '', ending: 'timeout' }
          : { digits: pressed, ending: 'complete' }
      }
      case 'listen':
        if (request.languages === null) this.#listened.delete(request.leg)
        else this.#listened.add(request.leg)
        return null
      case 'dropLeg':
        this.#listened.delete(request.leg)
        return null
      default:
        return null
    }
  }

  #dial(events: LegEvents) {
    if (this.#chance(0.05)) throw new EngineError('overloaded', 'the trunk has no channel')
    if (this.#open.size > 0) throw new Error('two attempts at once')
    const id = `person-${this.events.at(-1)?.attempt}`
    this.#open.set(id, events)
    this.dialled++
    const { clock } = this
    const isOpen = () => this.#open.get(id) === events
    const close = () => {
      this.#open.delete(id)
      this.#answered.delete(id)
    }
    const far = (ending: Ending) => {
      if (!isOpen()) return
      close()
      events.ended(ending)
    }
    const answer = () => {
      if (!isOpen()) return
      this.#answered.add(id)
      events.answered(REMOTE)
      if (this.#chance(0.5)) clock.after(this.#between(500, 60_000), () => far(HANGS_UP))
      for (let i = this.#between(0, 3); i > 0; i--) {
        // The person puts the call on hold and resumes it.
        clock.after(this.#between(100, 40_000), () => {
          if (isOpen()) void events.mediaChanged({ ...REMOTE, send: this.#chance(0.5) }).catch(() => {})
        })
      }
    }
    clock.after(this.#between(50, 3_000), () => {
      if (isOpen()) events.progress(this.#chance(0.5) ? 180 : 183)
    })
    const fate = this.#random()
    clock.after(this.#between(100, 25_000), () => {
      if (fate < 0.6) answer()
      else if (fate < 0.7) far(BUSY)
      else if (fate < 0.8) far(CARRIER)
    })
    return {
      release: () => {
        this.#released++
      },
      leg: {
        sipCallId: id,
        ring: () => {},
        early: () => null,
        connect: () => {},
        // Shorter than the bound after which the next telephone rings all the same.
        end: async () => {
          await this.#later(null, 4_000)
          close()
        },
      },
    }
  }

  /** Caller, person and agent never wait for each other in silence. */
  #checkVoices(): void {
    const [person] = this.#persons
    const talks = this.#mode === 'bridge' && person !== undefined && this.#answered.has(person)
    // In the other modes the caller hears the agent, its lines, music or ringback.
    const silent = this.#mode === 'bridge' && !talks
    this.#silentMs = silent && this.#closing === null ? this.#silentMs + STEP_MS : 0
    if (this.#silentMs > SILENCE_MS) throw new Error(`silence in ${JSON.stringify(this.events.at(-1))}`)
    const last = this.events.at(-1)
    const over = last === undefined || ENDED.has(last.status)
    if (over && this.#closing === null && this.#mode !== 'agent') {
      const sinceMs = this.clock.now() - (last?.atMs ?? 0)
      if (sinceMs > BACK_MS) throw new Error('the agent is not back')
    }
  }

  /** Steps and times of each attempt, from which the person is billed. */
  #checkAttempts(): void {
    const attempts = new Map<number, (TransferEvent & { readonly atMs: number })[]>()
    for (const event of this.events) {
      attempts.set(event.attempt, [...(attempts.get(event.attempt) ?? []), event])
    }
    if (attempts.size > MAX_ATTEMPTS) throw new Error('too many attempts')
    let endedAt = 0
    for (const [number, steps] of attempts) {
      const names = steps.map(({ status }) => status)
      const text = `attempt ${number}: ${names.join(' ')}`
      if (names[0] !== 'accepted' || names.filter((name) => ENDED.has(name)).length !== 1)
        throw new Error(text)
      if (!ENDED.has(names.at(-1) ?? '') || new Set(names).size !== names.length) throw new Error(text)
      if (names.includes('bridged') !== names.includes('completed')) throw new Error(text)
      if (names.includes('bridged') && !names.includes('answered')) throw new Error(text)
      if (steps.some(({ atMs }, index) => index > 0 && atMs < Number(steps[index - 1]?.atMs)))
        throw new Error(text)
      if (Number(steps[0]?.atMs) < endedAt) throw new Error(`${text} began during the one before`)
      endedAt = Number(steps.at(-1)?.atMs)
      if (names.includes('bridged') && !this.#agentLeft)
        throw new Error(`${text}, and the agent is still billed`)
    }
  }
}

t.test('whatever parties, carriers and workers do', async (t) => {
  const seen = new Map<string, number>()
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
  for (let seed = 1; seed <= CALLS; seed++) {
    const call = new RandomTransfers(seed)
    try {
      await call.run()
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
    }
    for (const { status, outcome, mode } of call.events) {
      count(status)
      count(`${outcome}`)
      if (status === 'bridged') count(`bridged ${mode}`)
    }
    for (const refusal of new Set(call.refused)) count(refusal)
    if (call.kept > 0) count('kept words')
    count(`${call.ending}`)
  }
  // What the random world reached; a world in which nothing happens proves nothing.
  const reached = [
    ...[
      'bridged blind',
      'bridged screened',
      'bridged consult',
      'busy',
      'no_answer',
      'declined',
      'carrier_error',
    ],
    ...['caller_hung_up', 'caller_returned', 'destination_unavailable', 'transfer_in_progress', 'internal'],
    ...['attempts_exhausted', 'kept words', 'transfer_completed', 'caller_hangup', 'api_hangup'],
  ]
  for (const what of reached) t.ok((seen.get(what) ?? 0) >= 3, `${what}: ${seen.get(what) ?? 0}`)
})
