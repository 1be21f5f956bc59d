import t from 'tap'
import { joined, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { EMPTY_RTP_STATS } from '../../fixtures/rtp/empty-stats.js'
import type { AudioFrame } from '../base/frame.js'
import { LoopEndpoint } from '../sounds/endpoints.js'
import type { NetworkEndpoint } from './endpoint.js'
import { applyRouting, type CallParties, type RoutingMode } from './routing.js'
import { Session } from './session.js'

/** Whole periods in a second, so that a loop of a second has no seam. */
const HUMS = { caller: 170, person: 190, agent: 210, music: 230 } as const
const LEVEL = 0.2
const MODES: readonly RoutingMode[] = ['agent', 'hold', 'briefing', 'bridge', 'three_way', 'whisper']
/** The source that each party hears, by mode. */
const HEARD: Readonly<Record<RoutingMode, Readonly<Record<'caller' | 'person' | 'agent', string>>>> = {
  agent: { caller: 'agent', person: '', agent: 'caller' },
  hold: { caller: 'music', person: '', agent: '' },
  briefing: { caller: 'music', person: 'agent', agent: 'person' },
  bridge: { caller: 'person', person: 'caller', agent: '' },
  three_way: { caller: 'agent+person', person: 'agent+caller', agent: 'caller+person' },
  whisper: { caller: 'agent', person: 'agent+caller', agent: 'caller+person' },
}
/**
 * Strongest curvature (second difference) of all hums together, and some for fades and rounding. A hum that begins or
 * ends abruptly bends more, wherever it is cut.
 */
const MAX_BEND =
  100 +
  Object.values(HUMS).reduce((sum, hertz) => sum + LEVEL * 32767 * ((2 * Math.PI * hertz) / 8000) ** 2, 0)

/** A party that hums and keeps what it hears, with silence for frames without audio. */
class Humming extends LoopEndpoint {
  readonly heard: Int16Array[] = []
  #frame: Int16Array | null = null

  constructor(id: keyof typeof HUMS) {
    super(id, tone(HUMS[id], 1000, 8000, LEVEL))
  }

  override push({ pcm }: AudioFrame): void {
    this.#frame = pcm.slice()
  }

  keep(): void {
    this.heard.push(this.#frame ?? new Int16Array(160))
    this.#frame = null
  }
}

/** A network leg without a network. */
function asLeg(humming: Humming): NetworkEndpoint {
  return {
    id: humming.id,
    kind: 'rtp',
    delivery: 'tick',
    pull: (into, at) => humming.pull(into, at),
    push: (frame) => humming.push(frame),
    setPlayout: () => {},
    start: () => {},
    flush: () => true,
    stats: () => EMPTY_RTP_STATS,
    close: () => {},
  }
}

t.test('no switch between two modes clicks, and each leads to the routes of the second', (t) => {
  for (const from of MODES) {
    for (const to of MODES) {
      const caller = new Humming('caller')
      const person = new Humming('person')
      const agent = new Humming('agent')
      const session = new Session({
        rate: 8000,
        clock: new VirtualClock(),
        recordTo: null,
        onRecordingFailed: () => {},
      })
      session.add(asLeg(caller))
      session.add(asLeg(person))
      session.add(agent)
      session.add(new LoopEndpoint('music', tone(HUMS.music, 1000, 8000, LEVEL)))
      // The agent takes its audio on ticks here, so that every route fades on the same clock.
      Object.defineProperty(agent, 'delivery', { value: 'tick' })
      const parties: CallParties = {
        caller: 'caller',
        agent: 'agent',
        legs: ['person'],
        persons: ['person'],
        listeners: [],
        fillers: new Map([['caller', 'music']]),
        sounds: ['music'],
        holders: new Set(),
        holdSound: null,
        announcement: null,
        ambience: null,
        dtmf: null,
      }
      applyRouting(session, from, parties)
      session.start()
      const run = (ticks: number) => {
        for (let i = 0; i < ticks; i++) {
          session.tick()
          for (const party of [caller, person, agent]) party.keep()
        }
      }
      run(10)
      applyRouting(session, to, parties)
      run(12)
      for (const party of [caller, person, agent]) {
        const pcm = joined(...party.heard)
        let bend = 0
        // The first frame of the call begins abruptly.
        for (let i = 322; i < pcm.length; i++) {
          const [before, at, after] = pcm.subarray(i - 2, i + 1) as unknown as [number, number, number]
          bend = Math.max(bend, Math.abs(before - 2 * at + after))
        }
        t.ok(bend < MAX_BEND, `${party.id}: ${from} to ${to}: a bend of ${bend}`)
        const settled = pcm.subarray(-1600)
        const hums = (Object.keys(HUMS) as (keyof typeof HUMS)[]).filter(
          (name) => toneLevel(settled, HUMS[name]) > 0.03,
        )
        t.equal(
          hums.toSorted().join('+'),
          HEARD[to][party.id as 'caller' | 'person' | 'agent'],
          `${party.id} in ${to} after ${from}`,
        )
      }
      void session.close('hangup')
    }
  }
  t.end()
})
