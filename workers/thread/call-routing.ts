import { randomInt } from 'node:crypto'
import type { Digit, DtmfTiming, SessionRate } from '../../media/base/frame.js'
import type { EndpointId } from '../../media/session/endpoint.js'
import {
  agentPresent,
  applyRouting,
  type CallParties,
  type RoutingMode,
} from '../../media/session/routing.js'
import type { Session } from '../../media/session/session.js'
import { DtmfToneEndpoint, LoopEndpoint, ToneEndpoint } from '../../media/sounds/endpoints.js'
import { TONES } from '../../media/sounds/tone.js'
import type { HoldSound } from '../channel/protocol.js'
import type { SoundLibrary } from './sound-library.js'

const KEYS = 'keys'
const AMBIENCE = 'ambience'
const MUSIC = 'music'
const RINGBACK = 'ringback'

/** Decides who hears whom in a call, and owns the sounds besides its legs and its party. */
export class CallRouting {
  readonly #session: Session
  readonly #rate: SessionRate
  readonly #library: SoundLibrary
  readonly #keys: DtmfToneEndpoint
  /** The chosen sound of each leg. */
  readonly #chosen = new Map<EndpointId, HoldSound>()
  #mode: RoutingMode = 'agent'
  /** Routes that were asked for. */
  #turns = 0
  #parties: CallParties

  /** Connects the caller and the party, whose endpoints are in the session already. */
  constructor(options: {
    readonly session: Session
    readonly rate: SessionRate
    readonly library: SoundLibrary
    readonly caller: EndpointId
    readonly party: EndpointId | null
  }) {
    const { session, rate, library, caller, party } = options
    this.#session = session
    this.#rate = rate
    this.#library = library
    this.#keys = new DtmfToneEndpoint(KEYS, rate)
    session.add(this.#keys)
    this.#parties = {
      caller,
      agent: party,
      legs: [],
      persons: [],
      listeners: [],
      fillers: new Map(),
      sounds: [],
      holders: new Set(),
      holdSound: null,
      announcement: null,
      ambience: null,
      dtmf: KEYS,
    }
    this.#apply({})
  }

  /** Returns whether the party takes part in the conversation with the caller. */
  get partyPresent(): boolean {
    return this.#parties.agent !== null && agentPresent(this.#mode)
  }

  /**
   * Lets a voice speak to one leg, or to the caller and all persons, until the returned function is called or
   * another announcement begins.
   */
  announce(from: EndpointId, leg: EndpointId | null): () => void {
    const { caller, persons, announcement: before } = this.#parties
    const announcement = { from, to: leg === null ? [caller, ...persons] : [leg] }
    if (before !== null && before.from !== from) this.#session.route(before.from, [])
    this.#apply({ announcement })
    return () => {
      if (this.#parties.announcement !== announcement) return
      this.#session.route(from, [])
      this.#apply({ announcement: null })
    }
  }

  /** Takes a further leg, whose endpoint is in the session. */
  addLeg(id: EndpointId): void {
    this.#apply({ legs: [...this.#parties.legs, id] })
  }

  /** Lets a leg hear the caller and all that the caller hears. */
  addListener(id: EndpointId): void {
    this.#apply({ listeners: [...this.#parties.listeners, id] })
  }

  /** Forgets a leg, before its endpoint leaves the session. */
  removeLeg(id: EndpointId): void {
    this.#chosen.delete(id)
    const without = (ids: readonly EndpointId[]) => ids.filter((other) => other !== id)
    const { legs, persons, listeners, holders, announcement } = this.#parties
    const spoken = announcement === null ? null : { ...announcement, to: without(announcement.to) }
    this.#apply({
      persons: without(persons),
      listeners: without(listeners),
      holders: new Set(without([...holders])),
      fillers: this.#fillers(this.#mode),
      announcement: spoken,
    })
    this.#parties = { ...this.#parties, legs: without(legs) }
  }

  /**
   * Sets the mode and the persons. A bridge cuts what is being said to anybody. Rejects with EngineError `config_invalid` when hold music is needed and not
   * playable; the routes stay as they were then.
   */
  async route(mode: RoutingMode, persons: readonly EndpointId[]): Promise<void> {
    const turn = ++this.#turns
    await this.#openSounds(this.#fillers(mode), mode)
    // A later route did not wait for the sounds of this one.
    if (turn !== this.#turns) return
    this.#mode = mode
    const { announcement } = this.#parties
    // A connected party hears the other party, and not the end of a brief or of a line.
    const cut = mode === 'bridge' && announcement !== null
    if (cut) this.#session.route(announcement.from, [])
    this.#apply({ persons, fillers: this.#fillers(mode), ...(cut ? { announcement: null } : {}) })
  }

  /**
   * Takes whether the far side of a leg holds the call. In a bridge the others then hear music, unless the far side sends
   * audio all the same. Rejects like `route`.
   */
  async setHolds(leg: EndpointId, on: boolean): Promise<void> {
    const { holders } = this.#parties
    if (holders.has(leg) === on) return
    this.#apply({ holders: new Set(on ? [...holders, leg] : [...holders].filter((other) => other !== leg)) })
    await this.#openSounds(this.#fillers(this.#mode), this.#mode)
    this.#apply({})
  }

  /** Chooses the sound of a leg while no party speaks to it. Rejects like `route`. */
  async hold(leg: EndpointId, sound: HoldSound): Promise<void> {
    if (sound === 'music') await this.#openSounds(new Map([[leg, MUSIC]]), this.#mode)
    if (sound === 'ringback') await this.#openSounds(new Map([[leg, RINGBACK]]), this.#mode)
    this.#chosen.set(leg, sound)
    this.#apply({ fillers: this.#fillers(this.#mode) })
  }

  /**
   * Adds background sound around the agent. Each call starts at a random position, so that repeated calls do
   * not sound the same. Rejects with EngineError `config_invalid`.
   */
  async addAmbience(sound: 'office' | 'cafe' | 'call_center', volume: number): Promise<void> {
    const pcm = await this.#library.load(sound, this.#rate)
    this.#session.add(new LoopEndpoint(AMBIENCE, pcm, randomInt(pcm.length)))
    this.#apply({ ambience: { id: AMBIENCE, volume } })
  }

  /** Sends digits as tones to the caller. Returns false, and sends none, when too many are pending. */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    return this.#keys.press(digits, timing)
  }

  /** Returns the sound of each leg that is to hear one. A caller on hold hears music without a choice. */
  #fillers(mode: RoutingMode): ReadonlyMap<EndpointId, EndpointId> {
    const fillers = new Map<EndpointId, EndpointId>()
    if (mode === 'hold' || mode === 'briefing') fillers.set(this.#parties.caller, MUSIC)
    for (const [leg, sound] of this.#chosen) {
      if (sound === 'silence') fillers.delete(leg)
      else fillers.set(leg, sound === 'music' ? MUSIC : RINGBACK)
    }
    return fillers
  }

  async #openSounds(fillers: ReadonlyMap<EndpointId, EndpointId>, mode: RoutingMode): Promise<void> {
    const isHeld = mode === 'bridge' && this.#parties.holders.size > 0
    const missing = (id: EndpointId) =>
      ([...fillers.values()].includes(id) || (isHeld && id === MUSIC)) && !this.#parties.sounds.includes(id)
    if (missing(RINGBACK)) this.#addSound(new ToneEndpoint(RINGBACK, this.#rate, TONES.ringback))
    if (!missing(MUSIC)) return
    const pcm = await this.#library.load('hold', this.#rate)
    // Another request may have added it meanwhile.
    if (missing(MUSIC)) this.#addSound(new LoopEndpoint(MUSIC, pcm))
  }

  #addSound(endpoint: ToneEndpoint | LoopEndpoint): void {
    this.#session.add(endpoint)
    const { sounds, holdSound } = this.#parties
    this.#parties = {
      ...this.#parties,
      sounds: [...sounds, endpoint.id],
      holdSound: endpoint.id === MUSIC ? MUSIC : holdSound,
    }
  }

  #apply(change: Partial<CallParties>): void {
    this.#parties = { ...this.#parties, ...change }
    applyRouting(this.#session, this.#mode, this.#parties)
  }
}
