import type { EndId, MediaSession, RouteTo } from '../base/frame.js'

/** The ends of one call by what they are in it; null where there is none. */
export interface Parties {
  readonly caller: EndId
  /** An agent of ours or a bot behind a media socket. */
  readonly agent: EndId | null
  /** The person of a transfer, or a coach. */
  readonly human: EndId | null
  /** What a caller on hold hears. */
  readonly music: EndId | null
  /** Sounds around the agent; volume 0 to 1. */
  readonly ambience: { readonly id: EndId; readonly volume: number } | null
  /** Keys pressed as tones towards the caller. */
  readonly keys: EndId | null
}

export type Situation =
  /** Caller and agent talk; the human hears nobody. */
  | 'agent'
  /** The caller hears music, nobody hears the caller. */
  | 'hold'
  /** Agent and human talk, the caller waits. */
  | 'briefing'
  /** Caller and human talk, the agent hears and says nothing. */
  | 'bridge'
  | 'three_way'
  /** The human hears both, and only the agent hears the human. */
  | 'whisper'

/** Ambience while the agent speaks: 10 dB softer, and back within 0.4 s. */
const DUCKED = 0.32
const DUCK_RELEASE_MS = 400
/** Nothing may sound beside a key: a detector would not take it. */
const KEY_RELEASE_MS = 40

interface Planned {
  readonly from: EndId
  readonly to: readonly RouteTo[]
}

/** Who hears whom: an entry for each end there is, so that carrying it out leaves no route of before. */
export function routesOf(situation: Situation, parties: Parties): readonly Planned[] {
  const { caller, agent, human, music, ambience, keys } = parties
  const hears: Readonly<Record<Situation, readonly (readonly [EndId | null, readonly (EndId | null)[]])[]>> =
    {
      agent: [
        [caller, [agent]],
        [agent, [caller]],
      ],
      hold: [[music, [caller]]],
      briefing: [
        [agent, [human]],
        [human, [agent]],
        [music, [caller]],
      ],
      bridge: [
        [caller, [human]],
        [human, [caller]],
      ],
      three_way: [
        [caller, [agent, human]],
        [agent, [caller, human]],
        [human, [caller, agent]],
      ],
      whisper: [
        [caller, [agent, human]],
        [agent, [caller, human]],
        [human, [agent]],
      ],
    }
  const underKeys = keys === null ? [] : [{ end: keys, gain: 0, releaseMs: KEY_RELEASE_MS }]
  const routes: Planned[] = []
  for (const from of [caller, agent, human, music]) {
    if (from === null) continue
    const listeners = hears[situation].find(([speaker]) => speaker === from)?.[1] ?? []
    routes.push({
      from,
      to: listeners.flatMap((to) => {
        if (to === null) return []
        return to === caller && underKeys.length > 0 ? [{ to, under: underKeys }] : [{ to }]
      }),
    })
  }
  if (ambience !== null) {
    const talks = agent !== null && ['agent', 'three_way', 'whisper'].includes(situation)
    const under = [...underKeys]
    if (agent !== null) under.push({ end: agent, gain: DUCKED, releaseMs: DUCK_RELEASE_MS })
    routes.push({
      from: ambience.id,
      to: talks ? [{ to: caller, gain: ambience.volume, under }] : [],
    })
  }
  if (keys !== null) routes.push({ from: keys, to: [{ to: caller }] })
  return routes
}

/** Carries a situation out. Throws EngineError `internal` when an end is not in the session. */
export function wire(session: MediaSession, situation: Situation, parties: Parties): void {
  for (const { from, to } of routesOf(situation, parties)) session.route(from, to)
}
