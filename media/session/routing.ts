import type { EndpointId, MediaSession, RouteTo } from './endpoint.js'

/** The ends of one call by what they are in it; null where there is none. */
export interface CallParties {
  readonly caller: EndpointId
  /** An agent of ours or a bot behind a media socket. */
  readonly agent: EndpointId | null
  /** The person of a transfer, or a coach. */
  readonly human: EndpointId | null
  /** What a caller on hold hears. */
  readonly music: EndpointId | null
  /** Sounds around the agent; volume 0 to 1. */
  readonly ambience: { readonly id: EndpointId; readonly volume: number } | null
  /** Keys pressed as tones towards the caller. */
  readonly dtmf: EndpointId | null
}

export type RoutingMode =
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

interface PlannedRoute {
  readonly from: EndpointId
  readonly to: readonly RouteTo[]
}

/** Who hears whom: an entry for each end there is, so that carrying it out leaves no route of before. */
export function routesFor(situation: RoutingMode, parties: CallParties): readonly PlannedRoute[] {
  const { caller, agent, human, music, ambience, dtmf } = parties
  const hears: Readonly<
    Record<RoutingMode, readonly (readonly [EndpointId | null, readonly (EndpointId | null)[]])[]>
  > = {
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
  const underDtmf = dtmf === null ? [] : [{ endpoint: dtmf, gain: 0, releaseMs: KEY_RELEASE_MS }]
  const routes: PlannedRoute[] = []
  for (const from of [caller, agent, human, music]) {
    if (from === null) continue
    const listeners = hears[situation].find(([speaker]) => speaker === from)?.[1] ?? []
    routes.push({
      from,
      to: listeners.flatMap((to) => {
        if (to === null) return []
        return to === caller && underDtmf.length > 0 ? [{ to, duckedBy: underDtmf }] : [{ to }]
      }),
    })
  }
  if (ambience !== null) {
    const talks = agent !== null && ['agent', 'three_way', 'whisper'].includes(situation)
    const under = [...underDtmf]
    if (agent !== null) under.push({ endpoint: agent, gain: DUCKED, releaseMs: DUCK_RELEASE_MS })
    routes.push({
      from: ambience.id,
      to: talks ? [{ to: caller, gain: ambience.volume, duckedBy: under }] : [],
    })
  }
  if (dtmf !== null) routes.push({ from: dtmf, to: [{ to: caller }] })
  return routes
}

/** Carries a situation out. Throws EngineError `internal` when an end is not in the session. */
export function applyRouting(session: MediaSession, situation: RoutingMode, parties: CallParties): void {
  for (const { from, to } of routesFor(situation, parties)) session.route(from, to)
}
