import type { EndpointId, RouteTo } from './endpoint.js'
import type { Session } from './session.js'

/** The endpoints of a call by role; null when the call has none in that role. */
export interface CallParties {
  readonly caller: EndpointId
  /** An agent of Parley, or a customer's bot. */
  readonly agent: EndpointId | null
  /** The person of a transfer, or a coach. */
  readonly human: EndpointId | null
  /** Hold music for the caller. */
  readonly music: EndpointId | null
  /** Background sound around the agent; volume 0 to 1. */
  readonly ambience: { readonly id: EndpointId; readonly volume: number } | null
  /** DTMF tones towards the caller. */
  readonly dtmf: EndpointId | null
}

export type RoutingMode =
  /** Caller and agent talk; the human audience nothing. */
  | 'agent'
  /** The caller audience music and is not heard. */
  | 'hold'
  /** Agent and human talk while the caller is on hold. */
  | 'briefing'
  /** Caller and human talk; the agent only listens. */
  | 'bridge'
  | 'three_way'
  /** The human audience both, but only the agent audience the human. */
  | 'whisper'

/** Background sound is 10 dB softer while the agent speaks, and recovers within 0.4 s. */
const DUCKED = 0.32
const DUCK_RELEASE_MS = 400
/** Everything else is muted during a DTMF tone, so that a detector accepts it. */
const DTMF_RELEASE_MS = 40

interface PlannedRoute {
  readonly from: EndpointId
  readonly to: readonly RouteTo[]
}

/**
 * Returns the routes of a mode, with one entry per endpoint, so that applying them removes all earlier
 * routes.
 */
export function routesFor(mode: RoutingMode, parties: CallParties): readonly PlannedRoute[] {
  const { caller, agent, human, music, ambience, dtmf } = parties
  const audience: Readonly<
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
  const duckedByDtmf = dtmf === null ? [] : [{ endpoint: dtmf, gain: 0, releaseMs: DTMF_RELEASE_MS }]
  const routes: PlannedRoute[] = []
  for (const from of [caller, agent, human, music]) {
    if (from === null) continue
    const listeners = audience[mode].find(([speaker]) => speaker === from)?.[1] ?? []
    routes.push({
      from,
      to: listeners.flatMap((to) => {
        if (to === null) return []
        return to === caller && duckedByDtmf.length > 0 ? [{ to, duckedBy: duckedByDtmf }] : [{ to }]
      }),
    })
  }
  if (ambience !== null) {
    const talks = agent !== null && ['agent', 'three_way', 'whisper'].includes(mode)
    const duckedBy = [...duckedByDtmf]
    if (agent !== null) duckedBy.push({ endpoint: agent, gain: DUCKED, releaseMs: DUCK_RELEASE_MS })
    routes.push({
      from: ambience.id,
      to: talks ? [{ to: caller, gain: ambience.volume, duckedBy }] : [],
    })
  }
  if (dtmf !== null) routes.push({ from: dtmf, to: [{ to: caller }] })
  return routes
}

/** Applies the routes of a mode. Throws EngineError `internal` when an endpoint is not in the session. */
export function applyRouting(session: Session, mode: RoutingMode, parties: CallParties): void {
  for (const { from, to } of routesFor(mode, parties)) session.route(from, to)
}
