import type { EndpointId, RouteTo } from './endpoint.js'
import type { Session } from './session.js'

/** The endpoints of a call by role; null when the call has none in that role. */
export interface CallParties {
  readonly caller: EndpointId
  /** An agent of Parley, or a customer's bot. */
  readonly agent: EndpointId | null
  /**
   * All legs but the caller's. Those that are neither `persons` nor `listeners` hear no party; only `persons` are
   * heard.
   */
  readonly legs: readonly EndpointId[]
  /** The persons of a transfer, or a coach. */
  readonly persons: readonly EndpointId[]
  /** Legs that hear the caller and all that the caller hears. They are not heard. */
  readonly listeners: readonly EndpointId[]
  /** Sounds for legs to which no party speaks, by leg: hold music or ringback. */
  readonly fillers: ReadonlyMap<EndpointId, EndpointId>
  /** Endpoint of each sound that a filler or `holdSound` may name. */
  readonly sounds: readonly EndpointId[]
  /** The legs whose far side takes no audio now: it holds the call. */
  readonly holders: ReadonlySet<EndpointId>
  /** Sound for a leg of a bridge while all others have it on hold, unless a holder sends its own; null is silence. */
  readonly holdSound: EndpointId | null
  /** A voice that speaks to these listeners only: the agent, or an endpoint of its own. */
  readonly announcement: { readonly from: EndpointId; readonly to: readonly EndpointId[] } | null
  /** Background sound around the agent; volume 0 to 1. */
  readonly ambience: { readonly id: EndpointId; readonly volume: number } | null
  /** DTMF tones towards the caller. */
  readonly dtmf: EndpointId | null
}

export type RoutingMode =
  /** Caller and agent talk; the persons hear nothing. */
  | 'agent'
  /** No party hears another one; the caller hears a filler. */
  | 'hold'
  /** Agent and persons talk while the caller is on hold. */
  | 'briefing'
  /** Caller and persons talk; the agent neither hears nor speaks. */
  | 'bridge'
  | 'three_way'
  /** The persons hear both, but only the agent hears the persons. */
  | 'whisper'

type Role = 'caller' | 'agent' | 'persons'

/** The roles that hear a role, by mode. Persons who are heard at all also hear each other. */
const AUDIENCE: Readonly<Record<RoutingMode, Readonly<Record<Role, readonly Role[]>>>> = {
  agent: { caller: ['agent'], agent: ['caller'], persons: [] },
  hold: { caller: [], agent: [], persons: [] },
  briefing: { caller: [], agent: ['persons'], persons: ['agent', 'persons'] },
  bridge: { caller: ['persons'], agent: [], persons: ['caller', 'persons'] },
  three_way: {
    caller: ['agent', 'persons'],
    agent: ['caller', 'persons'],
    persons: ['caller', 'agent', 'persons'],
  },
  whisper: { caller: ['agent', 'persons'], agent: ['caller', 'persons'], persons: ['agent', 'persons'] },
}

/** Background sound is 10 dB softer while the agent speaks, and recovers within 0.4 s. */
const DUCKED = 0.32
const DUCK_RELEASE_MS = 400
/** Everything else is muted during a DTMF tone, so that a detector accepts it. */
const DTMF_RELEASE_MS = 40
/** Our sound of a hold begins this time after the last audio of the one who holds (ms). */
const HOLDER_RELEASE_MS = 400

interface PlannedRoute {
  readonly from: EndpointId
  readonly to: readonly RouteTo[]
}

/** Returns whether the agent takes part in the conversation with the caller. */
export function agentPresent(mode: RoutingMode): boolean {
  return AUDIENCE[mode].agent.includes('caller')
}

/**
 * Returns the routes of a mode, with one entry per endpoint, so that applying them removes all earlier
 * routes.
 */
export function routesFor(mode: RoutingMode, parties: CallParties): readonly PlannedRoute[] {
  const { caller, agent, legs, persons, listeners, fillers, sounds, announcement, ambience, dtmf } = parties
  const members: Readonly<Record<Role, readonly EndpointId[]>> = {
    caller: [caller],
    agent: agent === null ? [] : [agent],
    persons,
  }
  const duckedByDtmf = dtmf === null ? [] : [{ endpoint: dtmf, gain: 0, releaseMs: DTMF_RELEASE_MS }]
  const routeTo = (to: EndpointId): RouteTo => {
    if (listeners.includes(to)) return { to, onlyListens: true }
    return to === caller && duckedByDtmf.length > 0 ? { to, duckedBy: duckedByDtmf } : { to }
  }
  const heard = new Set<EndpointId>()
  const planned = (from: EndpointId, to: readonly EndpointId[]): PlannedRoute => {
    for (const id of to) heard.add(id)
    return { from, to: withListeners(from, to).map(routeTo) }
  }
  const withListeners = (from: EndpointId, to: readonly EndpointId[]): readonly EndpointId[] =>
    from === caller || to.includes(caller) ? [...to, ...listeners] : to
  const audience = (from: EndpointId, role: Role): PlannedRoute => {
    if (from === announcement?.from) return planned(from, announcement.to)
    const listeners = AUDIENCE[mode][role].flatMap((role) => members[role])
    return planned(
      from,
      listeners.filter((id) => id !== from),
    )
  }
  const routes: PlannedRoute[] = [audience(caller, 'caller')]
  if (agent !== null) routes.push(audience(agent, 'agent'))
  for (const leg of legs)
    routes.push(persons.includes(leg) ? audience(leg, 'persons') : { from: leg, to: [] })
  if (announcement !== null && announcement.from !== agent) {
    routes.push(planned(announcement.from, announcement.to))
  }
  const waiting = [...fillers].filter(([leg]) => !heard.has(leg))
  for (const from of sounds) {
    const to = waiting.filter(([, sound]) => sound === from).map(([leg]) => leg)
    const held = mode === 'bridge' && from === parties.holdSound ? heldRoutes(parties) : []
    routes.push({ from, to: [...withListeners(from, to).map(routeTo), ...held] })
  }
  if (ambience !== null) {
    const duckedBy = [...duckedByDtmf]
    if (agent !== null) duckedBy.push({ endpoint: agent, gain: DUCKED, releaseMs: DUCK_RELEASE_MS })
    const talks = agent !== null && agentPresent(mode)
    const hears = talks ? withListeners(ambience.id, [caller]) : []
    routes.push({ from: ambience.id, to: hears.map((to) => ({ to, gain: ambience.volume, duckedBy })) })
  }
  if (dtmf !== null) routes.push({ from: dtmf, to: withListeners(dtmf, [caller]).map((to) => ({ to })) })
  return routes
}

/** Returns hold-sound routes for bridge members whom all others have on hold, without those who hear the announcement. */
function heldRoutes({ caller, persons, listeners, holders, announcement }: CallParties): RouteTo[] {
  const bridged = [caller, ...persons]
  return bridged.flatMap((to) => {
    const others = bridged.filter((id) => id !== to)
    const waits = others.length > 0 && !holders.has(to) && others.every((id) => holders.has(id))
    if (!waits || announcement?.to.includes(to)) return []
    const duckedBy = others.map((endpoint) => ({ endpoint, gain: 0, releaseMs: HOLDER_RELEASE_MS }))
    const hears: RouteTo[] = to === caller ? listeners.map((id) => ({ to: id, onlyListens: true })) : []
    return [{ to }, ...hears].map((route) => ({ ...route, duckedBy }))
  })
}

/** Applies the routes of a mode. Throws EngineError `internal` when an endpoint is not in the session. */
export function applyRouting(session: Session, mode: RoutingMode, parties: CallParties): void {
  for (const { from, to } of routesFor(mode, parties)) session.route(from, to)
}
