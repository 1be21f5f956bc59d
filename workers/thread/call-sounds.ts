import { randomInt } from 'node:crypto'
import type { Digit, DtmfTiming, SessionRate } from '../../media/base/frame.js'
import { applyRouting, type CallParties } from '../../media/session/routing.js'
import type { Session } from '../../media/session/session.js'
import { DtmfToneEndpoint, LoopEndpoint } from '../../media/sounds/endpoints.js'
import type { SoundLibrary } from './sound-library.js'

const KEYS = 'keys'
const AMBIENCE = 'ambience'

/** What a call has besides its leg and its party: sounds around the agent, keys as tones. */
export class CallSounds {
  readonly #session: Session
  readonly #rate: SessionRate
  readonly #keys: DtmfToneEndpoint
  #parties: CallParties

  /** Caller and party hear each other from here on. Their ends are in the session already. */
  constructor(session: Session, rate: SessionRate, caller: string, party: string) {
    this.#session = session
    this.#rate = rate
    this.#keys = new DtmfToneEndpoint(KEYS, rate)
    session.add(this.#keys)
    this.#parties = { caller, agent: party, human: null, music: null, ambience: null, dtmf: KEYS }
    applyRouting(session, 'agent', this.#parties)
  }

  /**
   * Puts the agent into a room. Each call begins somewhere else in the sound, so that who calls twice
   * does not hear the same cup fall. Rejects with EngineError `config_invalid`.
   */
  async addAmbience(
    sounds: SoundLibrary,
    sound: 'office' | 'cafe' | 'call_center',
    volume: number,
  ): Promise<void> {
    const pcm = await sounds.load(sound, this.#rate)
    this.#session.add(new LoopEndpoint(AMBIENCE, pcm, randomInt(pcm.length)))
    this.#parties = { ...this.#parties, ambience: { id: AMBIENCE, volume } }
    applyRouting(this.#session, 'agent', this.#parties)
  }

  /** Keys as tones in the audio; false, and none sent, when too many wait. */
  press(digits: readonly Digit[], timing?: DtmfTiming): boolean {
    return this.#keys.press(digits, timing)
  }
}
